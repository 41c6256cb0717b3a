"""A terminal as far as the board needs one: it takes what the board writes, and shows what an operator would see."""

import re

_PART = re.compile(r"\x1b\[(\??)([\d;]*)([A-Za-z])|[\s\S]")


class Screen:
    """Lines that were written so far, those scrolled out at the top included."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.lines = [""]
        self.row = self.column = 0
        self.wraps = self.cursor_shown = self.alternate = False
        self.wraps = self.cursor_shown = True

    def feed(self, text: str) -> None:
        for part in _PART.finditer(text):
            if part[3]:
                self._control(part[1], part[2], part[3])
            else:
                self._character(part[0])

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines)

    def _control(self, private: str, number: str, letter: str) -> None:
        if private:
            if number == "7":
                self.wraps = letter == "h"
            elif number == "25":
                self.cursor_shown = letter == "h"
            elif number in {"47", "1047", "1049"}:
                self.alternate = letter == "h"
        elif letter == "A":
            self.row = max(self.row - int(number or 1), 0)
        elif letter in "JK":
            self.lines[self.row] = self.lines[self.row][: self.column]
            if letter == "J":
                del self.lines[self.row + 1 :]

    def _character(self, character: str) -> None:
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row += 1
            if self.row == len(self.lines):
                self.lines.append("")
        elif self.column < self.columns:
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + character + line[self.column + 1 :]
            self.column += 1
