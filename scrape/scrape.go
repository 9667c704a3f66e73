// Package scrape is the only door to an upstream: a node, or a data or metrics service.
//
// A call is one question and one decoded answer. It is bounded in time, bytes and rate; it is repeated only where that
// is safe and there is hope; identical questions may share an answer (MaxAge). Whatever goes wrong comes back as an
// Error that says what was asked, how it ended (an Outcome, fit to be a label) and why, in words that tell an operator
// what to do next and that hold no URL, header or credential.
//
// Answers are decoded by wire.Decode into plain structs under one law: absent is never zero. A field that is a pointer,
// or tagged omitzero, may be absent or null; any other field that is missing makes the answer malformed.
package scrape

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/time/rate"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Options describes an Upstream. Zero values mean the defaults.
type Options struct {
	Name string // configured name, the label upstream
	URL  string // base address, such as http://127.0.0.1:9650; user and password in it become basic auth

	// Header is sent with every request. No redirect is followed, so it reaches no other host.
	Header http.Header
	Host   string      // Host header, in place of the one of URL
	TLS    *tls.Config // not used where Transport is set

	Timeout     time.Duration // of one call, repetitions included, from the moment its turn has come; default 10s
	Concurrency int           // calls at once; default 4
	MaxWait     time.Duration // how long to leave the upstream alone at most, whatever its Retry-After asks for; default 1m
	Rate        float64       // requests a second; default 100
	Burst       int           // requests at once after a rest; default twice the Rate
	MaxBody     int64         // largest answer in bytes, after decompression; default 16 MiB

	// Admit, where set, is asked before each request, a repeated one too: a budget. Its error, a new *Error each time,
	// ends the call; its Op is filled in.
	Admit func(ctx context.Context, op string) error

	// Withholds, where set, tells from an error whether the upstream does not offer what was asked. The question, by
	// method and path, is then not sent again for an hour: the error stands for its answer. See Offers.
	Withholds func(error) bool
	// Share is how old a shared answer may be at least, where the caller allows any age but 0 (see MaxAge).
	Share time.Duration

	// Changed, where set, is called when Healthy has changed. It must not block.
	Changed func()

	Transport http.RoundTripper // default: an own http.Transport that keeps Concurrency connections open
	Metrics   *Metrics          // nil: not measured
}

// Defaults of Options.
const (
	defaultTimeout     = 10 * time.Second
	defaultConcurrency = 4
	defaultRate        = 100
	defaultMaxWait     = time.Minute // load balancers ask for hours, and the node is back in seconds
	defaultMaxBody     = 16 << 20
)

// Upstream is one server that is asked. It is safe for concurrent use.
type Upstream struct {
	name           string
	base           *url.URL
	user           *url.Userinfo     // of Options.URL
	configuredHost string            // Options.Host
	given          http.RoundTripper // Options.Transport
	admit          func(ctx context.Context, op string) error
	share          time.Duration
	offers         offers
	timeout        time.Duration
	maxBody        int64
	metrics        *measure
	pace           pace
	answers        answers
	unwell         atomic.Bool
	answered       atomic.Pointer[time.Time] // when the last good answer came
	changed        func()

	renewing sync.Mutex // held by who replaces access
	access   atomic.Pointer[access]
}

// New opens the door to an upstream. It sends nothing. An error says what to write instead and shows no credential.
func New(o Options) (*Upstream, error) {
	base, err := parseBase(o.URL)
	if err != nil {
		return nil, fmt.Errorf("upstream %q: %w", o.Name, err)
	}
	u := &Upstream{
		name:           o.Name,
		base:           base,
		user:           base.User,
		configuredHost: o.Host,
		given:          o.Transport,
		admit:          o.Admit,
		share:          o.Share,
		offers:         offers{withholds: o.Withholds},
		timeout:        orDefault(o.Timeout, defaultTimeout),
		maxBody:        orDefault(o.MaxBody, defaultMaxBody),
		metrics:        o.Metrics.of(o.Name),
		changed:        o.Changed,
	}
	base.User = nil
	perSecond := orDefault(o.Rate, defaultRate)
	u.pace.maxWait = orDefault(o.MaxWait, defaultMaxWait)
	u.pace.slots = make(chan struct{}, orDefault(o.Concurrency, defaultConcurrency))
	u.pace.bucket = rate.NewLimiter(rate.Limit(perSecond), orDefault(o.Burst, max(1, int(2*perSecond))))
	first, err := u.newAccess(o.Header, o.TLS)
	if err != nil {
		return nil, err
	}
	u.access.Store(first)
	return u, nil
}

func orDefault[T int | int64 | float64 | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// Name is the configured name.
func (u *Upstream) Name() string { return u.name }

// Healthy tells whether the upstream itself answered the last finished call, be it with a refusal. It is true before
// any call. A call that its caller gave up, or for which this host lacked a resource, says nothing about the upstream.
func (u *Upstream) Healthy() bool { return !u.unwell.Load() }

// Answered returns when the upstream last answered, be it with a refusal; zero where it never did.
func (u *Upstream) Answered() time.Time {
	if at := u.answered.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// ended notes how a call ended that says something about the upstream.
func (u *Upstream) ended(outcome Outcome) {
	good := answered(outcome)
	if good {
		now := time.Now()
		u.answered.Store(&now)
	}
	if u.unwell.Swap(!good) == good && u.changed != nil {
		u.changed()
	}
}

// RPC asks a JSON-RPC 2.0 method that only reads: the call may be repeated and its answer shared (see MaxAge). Params
// are an object or, for eth_ methods, an array; nil sends none. A null result is malformed unless T can be nil.
func RPC[T any](ctx context.Context, u *Upstream, path, method string, params any) (T, error) {
	return as[T](u.rpc(ctx, path, method, params, false, reflect.TypeFor[T]()))
}

// RPCOnce calls a JSON-RPC 2.0 method that changes the upstream: it is sent once at most and its answer never shared.
func RPCOnce[T any](ctx context.Context, u *Upstream, path, method string, params any) (T, error) {
	return as[T](u.rpc(ctx, path, method, params, true, reflect.TypeFor[T]()))
}

func (u *Upstream) rpc(ctx context.Context, path, method string, params any, once bool, answer reflect.Type) (any, error) {
	body, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitzero"`
	}{"2.0", rpcID, method, params}, json.Deterministic(true))
	if err != nil {
		return nil, &Error{method, Malformed, fmt.Errorf("params: %w", err)}
	}
	return u.ask(ctx, call{op: method, path: path, body: body, once: once, answer: answer, decode: decodeRPC})
}

// Get asks a REST resource. Op is its pattern, such as "GET /v1/avg_tps/{chainId}"; path is the resource itself, escaped
// by the caller and relative to the upstream's address. Any 2xx status counts as an answer.
func Get[T any](ctx context.Context, u *Upstream, op, path string, query url.Values) (T, error) {
	return GetEvenAt[T](ctx, u, 0, op, path, query)
}

// GetEvenAt is Get for a resource that may be answered with one more status, such as a node's health with 503. It counts
// as an answer where the body is one; with any other body, such as a proxy's, it is the refusal that it is for Get.
func GetEvenAt[T any](ctx context.Context, u *Upstream, status int, op, path string, query url.Values) (T, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return as[T](u.ask(ctx, call{op: op, path: path, evenAt: status, answer: reflect.TypeFor[T](), decode: decodeREST}))
}

// call is one question as it goes out.
type call struct {
	op     string
	path   string // and query
	body   []byte // nil: GET; empty: POST without one
	once   bool   // never repeated, never shared
	bare   bool   // an empty answer will do
	evenAt int    // a status beyond 2xx with which an answer may come
	answer reflect.Type
	decode func(d *wire.Decoder, answer reflect.Type) (any, error)
}

// ask returns an answer of the call's type.
func (u *Upstream) ask(ctx context.Context, c call) (any, error) {
	if err := u.offers.withheld(c); err != nil {
		return nil, err
	}
	var value any
	var err error
	if d := maxAge(ctx); d > 0 && !c.once {
		d = max(d, u.share)
		q := question{c.op, c.path, string(c.body), c.answer}
		value, err = u.answers.get(ctx, q, d, func(ctx context.Context) (any, error) { return u.call(ctx, c) })
	} else {
		value, err = u.call(ctx, c)
	}
	if err != nil {
		err = u.explain(c.op, err)
	}
	u.offers.note(c, err)
	return value, err
}

// as is all that is compiled anew for every type of an answer.
func as[T any](value any, err error) (T, error) {
	answer, _ := value.(T) // not ok only where there is none, or T is an interface and the answer null
	return answer, err
}

// explain gives err the form in which it leaves the package.
func (u *Upstream) explain(op string, err error) error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return err
	case errors.Is(err, context.Canceled):
		return &Error{op, Timeout, &reason{"the caller gave up", err}}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{op, Timeout, &reason{"no answer in the time that was left: a run of a collector has half its period", err}}
	}
	return &Error{op, OutcomeOf(err), &reason{u.clean(err.Error()), err}}
}

// reason is a sentence for the operator that keeps the error it was made from.
type reason struct {
	text string
	err  error
}

func (r *reason) Error() string { return r.text }
func (r *reason) Unwrap() error { return r.err }

// CheckURL tells what is wrong with an upstream's address, as New does.
func CheckURL(s string) error {
	_, err := parseBase(s)
	return err
}

// parseBase reads an upstream's address. No error shows user, password, path or query.
func parseBase(s string) (*url.URL, error) {
	const like = "write one like http://127.0.0.1:9650"
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, errors.New("no address: " + like)
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		host := s[strings.LastIndex(s, "@")+1:]
		if _, rest, ok := strings.Cut(host, "://"); ok {
			host = rest
		}
		host, _, _ = strings.Cut(host, "/")
		if _, err := url.Parse("http://" + host); err != nil || host == "" || host[0] == ':' || strings.ContainsAny(host, " ?#%") {
			return nil, errors.New("no address that can be asked: " + like)
		}
		return nil, fmt.Errorf("no address that can be asked: write http://%s or https://%[1]s", host)
	}
	if strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return nil, errors.New("an @ after the host: write / ? # and @ in a password as %2F %3F %23 and %40")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the address has a part after ? or #: leave it out, and put a key into a header")
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}

func checkHeader(h http.Header) error {
	for name, values := range h {
		for _, value := range values {
			if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return fmt.Errorf("the value of header %s holds a line break or control character: write it on one line", name)
			}
		}
	}
	return nil
}
