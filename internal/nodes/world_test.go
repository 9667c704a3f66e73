package nodes_test

import (
	"io"
	"net/http"
	"strings"
)

// replaced returns an answer with one text replaced.
func replaced(resp *http.Response, from, to string) (*http.Response, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	text := strings.ReplaceAll(string(body), from, to)
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return resp, err
}
