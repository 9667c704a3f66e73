// Package wiretest stands between the clients of a test and their network: it answers calls itself, or changes what the network answers.
// It imports nothing of the module, so that tests of every package can use it.
package wiretest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Call is a request to an upstream. Its Request is a copy, with its whole body; the network gets what is changed in it.
type Call struct {
	*http.Request
	Upstream string // the first label of the host, such as alpha
	Method   string // of JSON-RPC; of other requests GET and the path
	Params   any    // of JSON-RPC
	Text     []byte // the body
	network  http.RoundTripper
}

// Between returns a transport in which answer answers each call. It may ask the network.
func Between(network http.RoundTripper, answer func(*Call) (*http.Response, error)) http.RoundTripper {
	return promhttp.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		c := &Call{Request: r.Clone(r.Context()), Method: r.Method + " " + r.URL.Path, network: network}
		c.Upstream, _, _ = strings.Cut(r.URL.Hostname(), ".")
		c.Header.Del("Accept-Encoding") // the answer is read here
		if r.Body != nil {
			var err error
			if c.Text, err = io.ReadAll(r.Body); err != nil {
				return nil, err
			}
			c.Body = io.NopCloser(bytes.NewReader(c.Text))
			var call struct {
				Method string
				Params any
			}
			if json.Unmarshal(c.Text, &call) == nil && call.Method != "" {
				c.Method, c.Params = call.Method, call.Params
			}
		}
		return answer(c)
	})
}

// Ask returns the answer of the network.
func (c *Call) Ask() (*http.Response, error) { return c.network.RoundTrip(c.Request) }

// Rewritten returns the answer of the network with another body.
func (c *Call) Rewritten(change func(body []byte) []byte) (*http.Response, error) {
	r, err := c.Ask()
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	text = change(text)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return r, nil
}

// Changed returns the answer of the network after a change. Its numbers are of the type json.Number. An answer that is no object stays.
func (c *Call) Changed(change func(answer map[string]any)) (*http.Response, error) {
	return c.Rewritten(func(body []byte) []byte {
		d := json.NewDecoder(bytes.NewReader(body))
		d.UseNumber()
		var answer map[string]any
		if d.Decode(&answer) != nil || answer == nil {
			return body
		}
		change(answer)
		changed, err := json.Marshal(answer)
		if err != nil {
			return body
		}
		return changed
	})
}

// Reply is an answer in place of that of the network.
func Reply(status int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}
