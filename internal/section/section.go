// Package section reads and writes generated sections of documents. A section starts after the line <!-- name: made by … --> and
// ends before the line <!-- /name -->.
package section

import (
	"fmt"
	"os"
	"strings"
)

// Read returns the section of a file with this name.
func Read(file, name string) (string, error) {
	_, text, _, err := cut(file, name)
	return text, err
}

// With returns the content of the file with this text as the section.
func With(file, name, text string) (string, error) {
	before, _, after, err := cut(file, name)
	return before + text + after, err
}

// Write replaces the section of a file with this name.
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
		return "", "", "", fmt.Errorf("%s: no section between %s… --> and %s", file, begin, strings.TrimSpace(end))
	}
	return before + begin + mark + "-->\n", text, end + after, nil
}
