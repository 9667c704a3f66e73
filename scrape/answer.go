package scrape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// errTooLarge is the read error of an answer that exceeds Options.MaxBody.
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

// Memory limit for the decoded values of an answer: memoryPerByte bytes for each byte of Options.MaxBody, plus smallAnswer
// bytes. Lists of validators are the largest answers. A decoded list takes about as much memory as its text.
const (
	memoryPerByte = 2
	smallAnswer   = 64 << 10
)

// decode decodes an answer, which must be one JSON value.
func (u *Upstream) decode(c call, body io.Reader) (any, error) {
	in := &bounded{from: body, left: u.maxBody}
	d := wire.NewDecoder(in, memoryPerByte*int(u.maxBody)+smallAnswer)
	value, err := u.decodeFrom(in, d, c)
	d.Close()
	return value, err
}

func (u *Upstream) decodeFrom(in *bounded, d *wire.Decoder, c call) (any, error) {
	if kind := d.PeekKind(); kind != jsontext.KindBeginObject && kind != jsontext.KindBeginArray && in.err == nil {
		start := bytes.TrimSpace(d.UnreadBuffer())
		if c.bare && len(start) == 0 {
			return nil, nil
		}
		return nil, &Error{c.op, Malformed, noJSON(start)}
	}
	value, err := c.decode(d, c.answer)
	var refusal *RPCError
	if err == nil || errors.As(err, &refusal) {
		if _, end := d.ReadToken(); !errors.Is(end, io.EOF) {
			err, refusal = errors.New("data after the end of the answer"), nil
		}
	}
	switch {
	case errors.Is(err, wire.ErrMemory):
		return nil, &Error{c.op, TooLarge, fmt.Errorf("the decoded answer takes more memory than the limit of %s", size(memoryPerByte*u.maxBody))}
	case errors.Is(in.err, errTooLarge):
		return nil, &Error{c.op, TooLarge, fmt.Errorf("the answer is larger than the limit of %s", size(u.maxBody))}
	case in.err != nil:
		return nil, u.broken(c.op, in.err)
	case err == nil:
		return value, nil
	case refusal != nil:
		refusal.Message = u.clean(refusal.Message)
		return nil, &Error{c.op, Rejected, refusal}
	}
	return nil, &Error{c.op, Malformed, &reason{u.clean(shape(err)), err}}
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

func decodeREST(d *wire.Decoder, answer reflect.Type) (any, error) {
	value := reflect.New(answer)
	if err := wire.Decode(d, value.Interface()); err != nil {
		return nil, err
	}
	return value.Elem().Interface(), nil
}

// rpcID is the id of every JSON-RPC request. The ids need not differ, because each HTTP request contains one JSON-RPC request.
const rpcID = 1

// decodeRPC decodes the JSON-RPC envelope, with its members in any order. If the server could not parse the request, JSON-RPC
// requires the id null in the error. decodeRPC also accepts an error without an id.
func decodeRPC(d *wire.Decoder, answer reflect.Type) (any, error) {
	result := reflect.New(answer)
	var refusal *RPCError
	var hasResult, hasID bool
	if d.PeekKind() != jsontext.KindBeginObject {
		return nil, errors.New("the answer is not a JSON-RPC object")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() == jsontext.KindString {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		switch name.String() {
		case "result":
			if d.PeekKind() != jsontext.KindNull || nillable(answer) {
				hasResult = true
			}
			err = wire.Decode(d, result.Interface())
		case "error":
			refusal, err = readRefusal(d)
		case "id":
			hasID, err = readID(d)
		default:
			err = d.Skip()
		}
		if err != nil {
			return nil, err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	switch {
	case refusal != nil:
		return nil, refusal
	case !hasResult:
		return nil, errors.New("the answer has neither result nor error")
	case !hasID:
		return nil, errors.New("the answer has no id: check whether a proxy mixes answers")
	}
	return result.Elem().Interface(), nil
}

// readID reports whether the answer has an id. An id other than rpcID is an error. The id null counts as absent.
func readID(d *wire.Decoder) (bool, error) {
	if d.PeekKind() == jsontext.KindNull {
		return false, d.Skip()
	}
	id, err := d.ReadValue()
	if err == nil && string(id) != strconv.Itoa(rpcID) {
		err = errors.New("the answer has the id of another request: check whether a proxy mixes answers")
	}
	return err == nil, err
}

func nillable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
		return true
	}
	return false
}

// readRefusal decodes the error member: null, an object or, from some gateways, a string.
func readRefusal(d *wire.Decoder) (*RPCError, error) {
	if d.PeekKind() == jsontext.KindString {
		message, err := d.ReadToken()
		return &RPCError{Message: message.String()}, err
	}
	var body *struct {
		Code    int    `json:"code,omitzero"`
		Message string `json:"message,omitzero"`
	}
	if err := wire.Decode(d, &body); err != nil || body == nil {
		return nil, err
	}
	return &RPCError{body.Code, body.Message}, nil
}

// shape returns where and how an answer differs from the expected type, such as
// result.validators.0.weight: "x" is not a whole number.
func shape(err error) string {
	var meaning *json.SemanticError
	if errors.As(err, &meaning) {
		what := "unexpected JSON type"
		if meaning.Err != nil {
			what = meaning.Err.Error()
		}
		return place(meaning.JSONPointer) + what
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
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

func place(p jsontext.Pointer) string {
	if p == "" {
		return ""
	}
	return strings.ReplaceAll(strings.TrimPrefix(string(p), "/"), "/", ".") + ": "
}

func size(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", n/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
