"""Messages about the server's answers: one line each, whatever answers."""

import pytest

from obo_bench.gateway.errors import GatewayRefused

PAGE = "<!DOCTYPE HTML>\n<html>\n  <body>\n    <h1>Error</h1>\n  </body>\n</html>\n"


@pytest.mark.parametrize("text", [PAGE, PAGE * 1000])
def test_a_page_of_html_is_told_on_one_short_line_and_kept_whole(text: str) -> None:
    error = GatewayRefused(404, text, where="GET http://127.0.0.1/api/health")
    told = str(error)
    assert told.startswith("GET http://127.0.0.1/api/health answered 404: <!DOCTYPE HTML> <html> <body>")
    assert "\n" not in told
    assert len(told) < 600
    assert error.text == text
