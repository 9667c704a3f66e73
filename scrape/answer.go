package scrape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// errTooLarge is the read error of an answer that exceeds Method.MaxBody.
var errTooLarge = errors.New("too large")

// bounded limits how many bytes are read. left is the number of bytes that may still be read. err is set if the answer exceeds
// the limit or the connection breaks. If the answer is incomplete and err is nil, the upstream sent an incomplete answer.
type bounded struct {
	from io.Reader
	left int64
	err  error
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one byte more than allowed, to detect a larger answer
	}
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		n, err = n-1, errTooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// decode decodes an answer, which must be one JSON value.
func (u *Upstream) decode(r request, body io.Reader) (any, error) {
	limit := orDefault(r.MaxBody, defaultMaxBody)
	in := &bounded{from: body, left: limit}
	d := wire.NewDecoder(in)
	defer wire.Free(d)
	if kind := d.PeekKind(); kind != jsontext.KindBeginObject && kind != jsontext.KindBeginArray && in.err == nil {
		start := bytes.TrimSpace(d.UnreadBuffer())
		if r.MayBeEmpty && len(start) == 0 {
			return nil, nil
		}
		outcome := Malformed
		if len(start) == 0 && r.Positional {
			outcome = Unavailable // while a node shuts down, which may take minutes, its EVM chains answer HTTP 200 without a body
		}
		return nil, &Error{r.op, outcome, noJSON(start)}
	}
	decode := r.Method.decode
	if r.Verb == "" {
		decode = r.decodeRPC
	}
	value, err := decode(d)
	var refusal *RPCError
	if err == nil || errors.As(err, &refusal) {
		if _, end := d.ReadToken(); !errors.Is(end, io.EOF) {
			err, refusal = errors.New("data after the end of the answer"), nil
		}
	}
	switch {
	case errors.Is(in.err, errTooLarge):
		return nil, &Error{r.op, TooLarge, fmt.Errorf("the answer is larger than the limit of %g MiB", float64(limit)/(1<<20))}
	case errors.Is(err, wire.ErrTooMany):
		return nil, &Error{r.op, TooLarge, err}
	case in.err != nil:
		return nil, u.broken(r.op, in.err)
	case err == nil:
		return value, nil
	case refusal != nil:
		refusal.Message = u.clean(refusal.Message)
		return nil, &Error{r.op, classify(http.StatusOK, refusal.Code, refusal.Message).outcome, refusal}
	}
	return nil, &Error{r.op, Malformed, &reason{u.clean(shape(err)), err}}
}

func noJSON(start []byte) error {
	switch {
	case len(start) == 0:
		return errors.New("the answer is empty")
	case start[0] == '<':
		return errors.New("the answer is HTML, from a login page or a proxy: check the URL")
	}
	return errors.New("the answer is neither a JSON object nor an array: check the URL")
}

// rpcID is the id of every JSON-RPC request. The ids need not differ, because each HTTP request contains one JSON-RPC request.
const rpcID = 1

// decodeRPC decodes the JSON-RPC envelope, with its members in any order. If the server could not parse the request, JSON-RPC
// requires the id null in the error. decodeRPC also accepts an error without an id.
func (r request) decodeRPC(d *jsontext.Decoder) (result any, err error) {
	var refusal *RPCError
	var alone RPCError // of a gateway that sends the error without an envelope
	var hasResult, hasID bool
	err = wire.Members(d, func(name string) (err error) {
		switch name {
		case "result":
			if d.PeekKind() == jsontext.KindNull && !r.nullable {
				return d.SkipValue()
			}
			hasResult = true
			result, err = r.Method.decode(d)
		case "error":
			refusal, err = readRefusal(d)
		case "id":
			hasID, err = readID(d)
		case "message":
			err = wire.Decode(d, (*lenientText)(&alone.Message))
		case "code":
			err = wire.Decode(d, (*lenientCode)(&alone.Code))
		default:
			err = d.SkipValue()
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case refusal != nil:
		return nil, refusal
	case !hasResult && alone.Message != "":
		return nil, &alone
	case !hasResult:
		return nil, errors.New("the answer has neither result nor error")
	case !hasID:
		return nil, errors.New("the answer has no id: check whether a proxy mixes answers")
	}
	return result, nil
}

// readID reports whether the answer has an id. An id other than rpcID is an error. The id null counts as absent.
func readID(d *jsontext.Decoder) (bool, error) {
	if d.PeekKind() == jsontext.KindNull {
		return false, d.SkipValue()
	}
	id, err := d.ReadValue()
	if err == nil && string(id) != strconv.Itoa(rpcID) {
		err = errors.New("the answer has the id of another request: check whether a proxy mixes answers")
	}
	return err == nil, err
}

// readRefusal decodes the error member: null, an object or, from some gateways, a string.
func readRefusal(d *jsontext.Decoder) (*RPCError, error) {
	if d.PeekKind() == jsontext.KindString {
		message, err := d.ReadToken()
		return &RPCError{Message: message.String()}, err
	}
	var body *rpcErrorBody
	if err := wire.Decode(d, &body); err != nil || body == nil {
		return nil, err
	}
	return &RPCError{int(body.Code), string(body.Message)}, nil
}

// rpcErrorBody is the error of JSON-RPC, as servers and gateways write it.
type rpcErrorBody struct {
	Code    lenientCode `json:"code,omitzero"`
	Message lenientText `json:"message,omitzero"`
}

// lenientCode is a number, or a text with a number. Anything else is 0: the outcome of an error must not depend on its form.
type lenientCode int

// UnmarshalJSON decodes a code.
func (c *lenientCode) UnmarshalJSON(value []byte) error {
	n, _ := strconv.ParseFloat(strings.Trim(string(value), `"`), 64)
	if n >= math.MinInt32 && n <= math.MaxInt32 {
		*c = lenientCode(n)
	}
	return nil
}

// lenientText is a text. Any other value is kept as JSON.
type lenientText string

// UnmarshalJSON decodes a text.
func (t *lenientText) UnmarshalJSON(value []byte) error {
	var text string
	if json.Unmarshal(value, &text) != nil && string(value) != "null" {
		text = string(value)
	}
	*t = lenientText(text)
	return nil
}

// shape returns where and how an answer differs from the expected type, such as
// result.validators.0.weight: "x" is not a whole number.
func shape(err error) string {
	if meaning, ok := errors.AsType[*json.SemanticError](err); ok {
		what := "unexpected JSON type"
		if meaning.Err != nil {
			what = shape(meaning.Err)
		}
		return place(meaning.JSONPointer) + what
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return "the answer ends too early"
		}
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return place(syntax.JSONPointer) + "duplicate member"
		}
		return place(syntax.JSONPointer) + "invalid JSON"
	}
	return err.Error()
}

// place returns a path without the escapes of a pointer, in which a secret could not be found.
func place(p jsontext.Pointer) string {
	const longest = 100
	if p == "" {
		return ""
	}
	path := strings.Join(slices.Collect(p.Tokens()), ".")
	if len(path) > longest {
		path = path[:longest] + "…"
	}
	return path + ": "
}
