"""The server's side of four model APIs: requests are read, replies written, whole or streamed."""
