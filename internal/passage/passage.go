// Package passage reads and writes generated passages of documents. A passage starts after the line <!-- name: made by … --> and
// ends before the line <!-- /name -->.
package passage

import (
	"fmt"
	"os"
	"strings"
)

// Read returns the passage of a file with this name.
func Read(file, name string) (string, error) {
	_, text, _, err := cut(file, name)
	return text, err
}

// With returns the content of the file with this text as the passage.
func With(file, name, text string) (string, error) {
	before, _, after, err := cut(file, name)
	return before + text + after, err
}

// Write replaces the passage of a file with this name.
func Write(file, name, text string) error {
	whole, err := With(file, name, text)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(whole), 0o644) //nolint:gosec // a page of docs
}

func cut(file, name string) (before, text, after string, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", "", "", err
	}
	begin, end := "<!-- "+name+": made by ", "<!-- /"+name+" -->\n"
	before, rest, opened := strings.Cut(string(content), begin)
	mark, rest, ended := strings.Cut(rest, "-->\n")
	text, after, closed := strings.Cut(rest, end)
	if !opened || !ended || !closed {
		return "", "", "", fmt.Errorf("%s: no passage between %s… --> and %s", file, begin, strings.TrimSpace(end))
	}
	return before + begin + mark + "-->\n", text, end + after, nil
}
