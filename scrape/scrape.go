// Package scrape makes all calls to upstreams: nodes, the Data service and the Metrics service.
//
// A Method belongs to the table of its API. A call of a method sends a request and decodes the answer. Its duration, answer size
// and rate are limited. It is retried only if a retry is safe and useful. Identical calls may share an answer (MaxAge). Every failure is an Error with the
// operation, an Outcome
// that can be a label value, and a cause that states what the operator can do. An Error contains no URL, header or credential.
//
// wire.Decode decodes answers into plain structs. A missing value never becomes zero. A field that is a pointer, or tagged
// omitzero, may be absent or null. If any other field is missing, the answer is malformed.
package scrape

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
)

// Options describes an Upstream. Zero values mean the defaults.
type Options struct {
	Name string // configured name, the label upstream
	URL  string // base address, such as http://127.0.0.1:9650; a user and password in it are sent as basic authentication

	// Header is sent with every request. No redirect is followed, so no other host receives it.
	Header http.Header
	Host   string      // Host header; default: the host of URL
	TLS    *tls.Config // not used if Transport is set

	Timeout     time.Duration // of one call including retries, without its wait in the queue; default 10s
	Concurrency int           // concurrent calls; default 4; as many of Urgent
	MaxWait     time.Duration // maximum pause that a Retry-After can set; default 1m
	Rate        float64       // requests per second; default 100
	Burst       int           // maximum number of requests at once after an idle time; default twice the Rate

	// Admit, if set, is called before each request and each retry, to check a budget. If Admit returns an error, the call ends
	// with this error. It must be a new *Error each time, because the call sets its Op.
	Admit func(ctx context.Context, op string) error

	// RepeatAfter, if set, returns for how long a call is not sent again after err, because the upstream does not offer the
	// method at this path; 0 for any other error. Such a call returns err again. Each further refusal in a row doubles the time,
	// up to an hour. Path is that of the call, and answered reports whether the upstream has answered the call before. See Offers.
	RepeatAfter func(path string, err error, answered bool) time.Duration
	// Share is the minimum of MaxAge for this upstream: a shorter MaxAge is raised to Share. A MaxAge of 0 stays 0: nothing is
	// shared.
	Share time.Duration

	// Lost, if set, returns for how long this process has been late in total. If it was late during a quarter of a call without an answer, the
	// outcome is LocalLimit instead of Timeout. A call that took less than a second counts as one of a second: if its caller's time was over when
	// it began, it waited for nothing.
	Lost func() time.Duration

	// Changed, if set, is called when Healthy has changed. It must not block.
	Changed func()

	Transport http.RoundTripper // default: a new http.Transport
	Metrics   *Metrics          // default: not exported
}

// Defaults of Options.
const (
	defaultTimeout     = 10 * time.Second
	defaultConcurrency = 4
	defaultRate        = 100
	defaultMaxWait     = time.Minute // load balancers request hours, although the node answers again after seconds
	defaultMaxBody     = 1 << 20     // of Method.MaxBody
)

// Upstream is one server. It is safe for concurrent use.
type Upstream struct {
	options   Options // with defaults in place of zero values
	base      *url.URL
	user      *url.Userinfo // of Options.URL
	proxy     string        // the environment variable that sends requests through a proxy; empty: none does
	metrics   *measure
	limiter   limiter
	answers   answers
	unhealthy atomic.Bool
	answered  moment // see Answered
	refused   moment // see Refused
	succeeded moment // see Succeeded

	renewing sync.Mutex // locked while access is replaced
	access   atomic.Pointer[access]
}

// New returns the client of an upstream. It sends nothing. An error contains a remedy and no credential.
func New(o Options) (*Upstream, error) {
	base, err := parse(o.URL, exampleURL)
	if err != nil {
		return nil, fmt.Errorf("upstream %q: %w", o.Name, err)
	}
	o.Timeout = orDefault(o.Timeout, defaultTimeout)
	if o.Metrics == nil {
		o.Metrics = NewMetrics(prometheus.NewRegistry())
	}
	perSecond, atOnce := orDefault(o.Rate, defaultRate), orDefault(o.Concurrency, defaultConcurrency)
	u := &Upstream{
		options: o, base: base, user: base.User, metrics: &measure{Metrics: o.Metrics, upstream: o.Name},
		limiter: limiter{
			slots:   make(chan struct{}, atOnce),
			urgent:  make(chan struct{}, atOnce),
			bucket:  rate.NewLimiter(rate.Limit(perSecond), orDefault(o.Burst, max(1, int(2*perSecond)))),
			maxWait: orDefault(o.MaxWait, defaultMaxWait),
			backoffs: backoffs{
				repeatAfter: o.RepeatAfter, known: map[callKey]backoff{}, pauses: map[string]time.Time{}, denied: map[callKey]int{}, results: map[string]int{},
			},
		},
		answers: newAnswers(),
	}
	base.User = nil
	u.proxy = proxyVariable(o, base)
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

// Name returns the configured name.
func (u *Upstream) Name() string { return u.options.Name }

// Healthy reports whether the upstream itself, not a proxy, answered the last finished request. An error is an answer too.
// Before the first request, Healthy is true. A request does not count if its caller cancelled it or if the exporter's host
// lacked a resource for it.
func (u *Upstream) Healthy() bool { return !u.unhealthy.Load() }

// Answered returns the time of the upstream's last answer, which may be an error. Before the first answer the time is zero.
func (u *Upstream) Answered() time.Time { return u.answered.get() }

// Refused returns when the upstream last refused a connection: no process listened there. Before that the time is zero.
func (u *Upstream) Refused() time.Time { return u.refused.get() }

// Succeeded returns the time of the last call with a result. Before the first one the time is zero. A gateway answers, with errors, even if
// none of its nodes does.
func (u *Upstream) Succeeded() time.Time { return u.succeeded.get() }

// moment is the time of the last event of a kind.
type moment struct{ at atomic.Pointer[time.Time] }

func (m *moment) set(to time.Time) { m.at.Store(&to) }

func (m *moment) get() (at time.Time) {
	if last := m.at.Load(); last != nil {
		at = *last
	}
	return at
}

// ended updates Healthy and Answered after a request. The caller does not call it with LocalLimit or after a cancellation,
// because these say nothing about the upstream.
func (u *Upstream) ended(outcome Outcome) {
	good := answered(outcome)
	if good {
		now := time.Now()
		u.answered.set(now)
		if outcome == OK {
			u.succeeded.set(now)
		}
	}
	if u.unhealthy.Swap(!good) == good && u.options.Changed != nil {
		u.options.Changed()
	}
}

// request is one request to send.
type request struct {
	*Method
	op   string
	path string // with the query
	body []byte // nil: GET
}

// once reports whether the request changes something. It is sent at most once, and its answer is not shared.
func (r request) once() bool { return r.Changes != "" }

// do returns an answer of the method: a shared one if ctx allows it, otherwise a new one.
func (u *Upstream) do(ctx context.Context, m *Method, path string, params any) (any, error) {
	r := request{Method: m, op: m.Op(), path: path}
	var err error
	if r.body, err = m.body(params); err != nil {
		return nil, &Error{r.op, Malformed, fmt.Errorf("params: %w", err)}
	}
	send := func(ctx context.Context) (any, error) {
		value, err := u.call(ctx, r)
		if err != nil {
			err = u.explain(r.op, err)
		}
		return value, u.limiter.ended(r.op, r.path, err)
	}
	blame := u.watch(ctx, r.op)
	d := maxAge(ctx)
	if d <= 0 || r.once() {
		value, err := send(ctx)
		return value, blame(err)
	}
	value, err := u.answers.get(ctx, shareKey{m, path, string(r.body), isUrgent(ctx)}, max(d, u.options.Share), send)
	if err != nil {
		err = u.explain(r.op, err)
	}
	return value, blame(err)
}

// watch begins to watch whether this process is in time. The returned function replaces a timeout by Starved if the process was late during a
// quarter of the time.
func (u *Upstream) watch(ctx context.Context, op string) (blame func(error) error) {
	if u.options.Lost == nil {
		return func(err error) error { return err }
	}
	began, before := time.Now(), u.options.Lost()
	return func(err error) error {
		if OutcomeOf(err) != Timeout || errors.Is(context.Cause(ctx), context.Canceled) {
			return err
		}
		if took, lost := time.Since(began), u.options.Lost()-before; lost < max(took, time.Second)/4 {
			return err
		}
		return Starved(op, err)
	}
}

// explain returns err as an *Error with a message for the operator.
func (u *Upstream) explain(op string, err error) error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return err
	case errors.Is(err, context.Canceled):
		return &Error{op, Timeout, &reason{"cancelled by the caller", err}}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{op, Timeout, &reason{"no answer before the caller's deadline", err}}
	}
	return &Error{op, OutcomeOf(err), &reason{u.clean(err.Error()), err}}
}

// reason is a message for the operator that wraps the original error.
type reason struct {
	text string
	err  error
}

func (r *reason) Error() string { return r.text }
func (r *reason) Unwrap() error { return r.err }

// exampleURL is the address of a node, in errors.
const exampleURL = "http://127.0.0.1:9650"

// CheckURL returns the error that New returns for this URL.
func CheckURL(s string) error { return CheckURLLike(s, exampleURL) }

// CheckURLLike is CheckURL with an example for the error.
func CheckURLLike(s, example string) error {
	_, err := parse(s, example)
	return err
}

func hasPort(host string) bool {
	_, _, err := net.SplitHostPort(host)
	return err == nil
}

// parse parses an upstream's address. Its errors contain no user, password, path or query.
func parse(s, example string) (*url.URL, error) {
	like := "write one like " + example
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, errors.New("URL missing: " + like)
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		host := s[strings.LastIndex(s, "@")+1:]
		if _, rest, ok := strings.Cut(host, "://"); ok {
			host = rest
		}
		host, _, _ = strings.Cut(host, "/")
		if _, err := url.Parse("http://" + host); err != nil || host == "" || host[0] == ':' || host[len(host)-1] == ':' || strings.ContainsAny(host, " ?#%") {
			return nil, errors.New("invalid URL: " + like)
		}
		if at, err := url.Parse(example); err == nil && at.Port() != "" && !hasPort(host) {
			return nil, fmt.Errorf("invalid URL: write http://%s:%s, or https://%[1]s for a proxy with TLS", host, at.Port())
		}
		return nil, fmt.Errorf("invalid URL: write http://%s or https://%[1]s", host)
	}
	if port, err := strconv.ParseUint(cmp.Or(u.Port(), "80"), 10, 16); err != nil || port == 0 {
		return nil, errors.New("invalid URL: the port is not a number from 1 to 65535")
	}
	if strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		return nil, errors.New("invalid URL: it has an @ after the host: in a password, write / as %2F, ? as %3F, # as %23 and @ as %40")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the URL has a query or fragment: remove the part after ? or #, and send a key as a header")
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}

func checkHeader(h http.Header) error {
	for name, values := range h {
		for _, value := range values {
			if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return fmt.Errorf("the value of header %s contains a line break or control character: remove it", name)
			}
		}
	}
	return nil
}
