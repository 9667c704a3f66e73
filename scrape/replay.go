package scrape

import (
	"bytes"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Replay returns an upstream that sends no request and answers every call with the parameter answer. For a JSON-RPC call,
// answer is the result. For any other call, answer is the whole body. With Replay, a method of a typed client can check an
// answer that was received before.
func Replay(answer jsontext.Value) (*Upstream, error) {
	return New(Options{URL: "http://replay.invalid", Transport: replay(answer), MaxBody: memoryFactor*int64(len(answer)) + maxEnvelope})
}

// memoryFactor is MaxBody divided by the size of the answer. MaxBody also sets the memory limit for decoded values. Decoded
// values may take several times the size of the answer, because the text of an item is kept until the item is decoded.
const memoryFactor = 8

// maxEnvelope is more than the size of a JSON-RPC answer without its result, in bytes.
const maxEnvelope = 1 << 10

type replay jsontext.Value

func (r replay) RoundTrip(request *http.Request) (*http.Response, error) {
	body := []byte(r)
	if request.Body != nil {
		requestBody, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		var call struct {
			Version string         `json:"jsonrpc"`
			ID      jsontext.Value `json:"id"`
		}
		if json.Unmarshal(requestBody, &call) == nil && call.Version != "" {
			body = bytes.Join([][]byte{[]byte(`{"jsonrpc":"2.0","id":`), call.ID, []byte(`,"result":`), r, []byte(`}`)}, nil)
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: request,
	}, nil
}
