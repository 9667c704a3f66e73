package main

import (
	"io"
	"strings"
	"unicode"
)

// printable replaces control characters, except line breaks and tabs, and invalid UTF-8, by question marks. A terminal would execute
// them, and texts of nodes and services may contain them.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar:
			return '?'
		}
		return r
	}, text)
}

// printableWriter writes printable text.
type printableWriter struct{ io.Writer }

func (w printableWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, printable(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
