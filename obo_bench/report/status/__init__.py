"""What is known of a run now, from its files, its server and its engine; nothing here changes any of them."""
