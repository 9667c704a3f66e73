package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/web"
)

// exporter is a running exporter.
type exporter struct {
	address string
	token   string // of its state directory; empty if it is not known
}

// exporterOf returns the exporter for a command: --from, or the exporter on this machine. It also returns the configuration. Only the exporter on
// this machine gets the token of the state directory.
func exporterOf(from string) (e exporter, cfg *config.Config, err error) {
	if u, err := url.Parse(from); from != "" && (err != nil || u.Host == "") {
		return e, nil, usageError{errors.New("--from: invalid URL: write one like http://127.0.0.1:9865")} // without the URL, which may contain a password
	}
	if cfg, err = configured(config.LoadServing()); err != nil {
		return e, nil, err
	}
	e.address = strings.TrimSuffix(cmp.Or(from, app.OwnURL(string(cfg.Listen), cfg.TLS)), "/")
	if dir, err := config.LoadOnly("STATE_DIR"); err == nil && from == "" {
		e.token = state.Token(string(dir.StateDir))
	}
	return e, cfg, nil
}

// client follows no redirect: only the exporter itself may answer, and only it may get the token.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// maxAnswer is the maximum size of an exporter's answer in bytes.
const maxAnswer = 256 << 20

// get sends a request. The caller closes the body.
func (e exporter) get(ctx context.Context, path string) (*http.Response, error) {
	return e.send(ctx, client, http.MethodGet, path, nil)
}

// send sends a request, with a body in JSON if there is one. The caller closes the body of the answer.
func (e exporter) send(ctx context.Context, client *http.Client, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, e.address+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if e.token != "" {
		req.Header.Set(web.TokenHeader, e.token)
	}
	return client.Do(req)
}

// request reads a text. The answer is trimmed.
func (e exporter) request(ctx context.Context, path string) (resp *http.Response, text string, err error) {
	if resp, err = e.get(ctx, path); err != nil {
		return nil, "", fmt.Errorf("%w; start the exporter, or name another one with --from", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp, strings.TrimSpace(string(body)), err
}

// answerOf reads a text. A name that the exporter does not know is an error in the command line. Otherwise the error is the
// exporter's text, or the remedy if it denies access. A redirect and a web page, such as that of a login, are errors.
func (e exporter) answerOf(ctx context.Context, path string) (string, error) {
	resp, text, err := e.request(ctx, path)
	if err != nil {
		return "", err
	}
	kind := resp.Header.Get("Content-Type")
	if resp.StatusCode < http.StatusBadRequest && (resp.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/plain")) {
		return "", fmt.Errorf("%s answers %s with %s; it is not the answer of an avax-exporter: name the exporter itself with --from",
			resp.Request.URL.Redacted(), resp.Status, cmp.Or(kind, "no content"))
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return text, nil
	case http.StatusNotFound, http.StatusBadRequest:
		return "", inputError("%s", text)
	case http.StatusUnauthorized, http.StatusForbidden:
		return "", refused(resp)
	}
	return "", errors.New(cmp.Or(text, resp.Status))
}

// verdict reads an answer that must begin with yes. Any other answer is an error: nothing else means yes.
func (e exporter) verdict(ctx context.Context, path string) (string, error) {
	text, err := e.answerOf(ctx, path)
	if err == nil && !strings.HasPrefix(text, "yes: ") {
		first, _, _ := strings.Cut(text, "\n")
		err = fmt.Errorf("%s answers %q, which is not yes; it is not the answer of an avax-exporter: name the exporter itself with --from", path, first)
	}
	return text, err
}

// refused returns the error of an answer that is not the requested one.
func refused(resp *http.Response) error {
	remedy := "name an exporter that serves it, with --from"
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		remedy = "write the user and the password in --from: http://user:password@host:9865"
	case http.StatusForbidden:
		remedy = "use a password, or run the command on the exporter's machine"
	}
	return fmt.Errorf("%s answers %s; %s", resp.Request.URL.Redacted(), resp.Status, remedy)
}

// answerWidth is the number of columns of an answer on a terminal.
const answerWidth = 100

// printAnswer prints an answer of the exporter. On a terminal, long lines are folded at spaces; a program reads them whole.
func printAnswer(out io.Writer, text string) error {
	if f, is := out.(*os.File); is && term.IsTerminal(int(f.Fd())) {
		text = folded(text, answerWidth)
	}
	_, err := fmt.Fprintln(out, text)
	return err
}

// folded breaks lines at spaces into lines of at most this number of columns, if words are not longer. The rest of a line is indented.
func folded(text string, width int) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))] + "  "
		for runes := []rune(line); len(runes) > width; runes = []rune(line) {
			at := strings.LastIndex(string(runes[:width+1]), " ")
			if at < len(indent) {
				break
			}
			lines, line = append(lines, line[:at]), indent+strings.TrimLeft(line[at:], " ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
