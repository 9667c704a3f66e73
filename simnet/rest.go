package simnet

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Service is a REST service about the whole network: the Metrics service or the Data service. It is an http.Handler.
type Service struct {
	endpoint
	routes  []route
	stopped bool
	pages   map[string]page

	listed bool // errors have a list of messages, even of one
	keyed  bool // requests may have a key
	key    string
	badKey int // status for an invalid key

	limit  int            // compute units per minute and caller; 0: no limit
	minute time.Time      // minute of spent
	spent  map[string]int // by caller
}

// route is an endpoint, as documented.
type route struct {
	verb, pattern string
	weight        int // compute units
	answer        func(r *request) (any, error)
}

// The costs of endpoints in compute units.
const (
	small  = 10
	medium = 20
	xl     = 100
)

func newService(net *Network, name string, routes []route) *Service {
	s := &Service{routes: routes, pages: make(map[string]page), badKey: http.StatusUnauthorized, spent: make(map[string]int)}
	s.endpoint = endpoint{
		net:     net,
		name:    name,
		listens: func(time.Time) bool { return !s.stopped },
		wakes:   func(time.Time) time.Time { return time.Time{} },
		respond: s.respond,
		refuse:  func(status int, text string) reply { return s.failed(failure{status, text}) },
		pattern: func(path string) string {
			for _, r := range routes {
				if _, ok := match(r.pattern, path); ok {
					return r.pattern
				}
			}
			return path
		},
	}
	return s
}

// match returns the values of a pattern's variables in a path.
func match(pattern, path string) (map[string]string, bool) {
	parts, values := strings.Split(path, "/"), make(map[string]string)
	for i, want := range strings.Split(pattern, "/") {
		if i == len(parts) {
			return nil, false
		}
		if variable, ok := strings.CutPrefix(want, "{"); ok {
			name, suffix, _ := strings.Cut(variable, "}")
			value, ok := strings.CutSuffix(parts[i], suffix)
			if !ok || value == "" {
				return nil, false
			}
			values[name] = value
		} else if want != parts[i] {
			return nil, false
		}
	}
	return values, strings.Count(pattern, "/")+1 == len(parts)
}

// failure is an error of the services: a status, and a message or a list of messages.
type failure struct {
	status  int
	message any
}

func (f failure) Error() string { return fmt.Sprint(f.status, f.message) }

func missing(format string, args ...any) failure {
	return failure{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

// errNoRoute means that the service does not have the path.
var errNoRoute = errors.New("no such path")

func (s *Service) failed(f failure) reply {
	if text, ok := f.message.(string); ok && s.listed {
		f.message = []string{text}
	}
	return newReply(f.status, "application/json; charset=utf-8", encode(struct {
		Message    any    `json:"message"`
		Error      string `json:"error"`
		StatusCode int    `json:"statusCode"`
	}{f.message, http.StatusText(f.status), f.status}))
}

// created is an answer with status 201; nil means an empty body.
type created struct{ body any }

// respond answers a request. The caller holds the lock.
func (s *Service) respond(now time.Time, q *query) reply {
	r := &request{truth: &s.net.truth, service: s, now: now, asOf: now, query: q.URL.Query(), path: q.URL.Path, body: q.body}
	header, body, err := http.Header(nil), any(nil), errNoRoute
	for _, route := range s.routes {
		values, ok := match(route.pattern, q.URL.Path)
		if !ok || route.verb != q.Method {
			continue
		}
		r.values = values
		if header, err = s.admit(now, q, route.weight); err == nil {
			body, err = route.answer(r)
		}
		if len(r.wrong) > 0 {
			err = failure{http.StatusBadRequest, r.wrong}
		}
		break
	}
	var rep reply
	var f failure
	done, isCreated := body.(created)
	switch {
	case errors.As(err, &f):
		rep = s.failed(f)
	case err != nil:
		rep = s.failed(missing("Cannot %s %s", q.Method, q.URL.Path))
	case isCreated && done.body == nil:
		rep = newReply(http.StatusCreated, "", nil)
	case isCreated:
		rep = newReply(http.StatusCreated, "application/json; charset=utf-8", encode(done.body))
	default:
		rep = newReply(http.StatusOK, "application/json; charset=utf-8", encode(body))
	}
	maps.Copy(rep.header, header)
	return rep
}

// keyHeaders are the headers for a key: the documented one and the service's own.
var keyHeaders = []string{"x-service-api-key", "x-glacier-api-key"}

// admit spends the cost of a request from the caller's budget of this minute. All callers without a key are one.
func (s *Service) admit(now time.Time, q *query, weight int) (http.Header, error) {
	key := ""
	for _, name := range keyHeaders {
		if v := q.Header.Get(name); v != "" && s.keyed {
			key = v
		}
	}
	if key != "" && key != s.key {
		return nil, failure{s.badKey, "Api key is invalid"}
	}
	if s.limit == 0 {
		return nil, nil
	}
	if minute := now.Truncate(time.Minute); !minute.Equal(s.minute) {
		s.minute = minute
		clear(s.spent)
	}
	ok := s.spent[key]+weight <= s.limit
	if ok {
		s.spent[key] += weight
	}
	h := http.Header{}
	if key != "" || !ok {
		h.Set("ratelimit-policy", fmt.Sprintf("%d;w=60", s.limit))
		h.Set("ratelimit-limit", strconv.Itoa(s.limit))
		h.Set("ratelimit-remaining", strconv.Itoa(s.limit-s.spent[key]))
	}
	if !ok {
		wait := s.minute.Add(time.Minute).Sub(now)
		seconds := strconv.Itoa(int((wait + time.Second - 1) / time.Second))
		h.Set("ratelimit-reset", seconds)
		h.Set("retry-after", seconds)
		return h, failure{http.StatusTooManyRequests, "Too Many Requests"}
	}
	return h, nil
}

// request is a request to a service. It collects all invalid parameters, since the service reports them together before
// anything else.
type request struct {
	*truth
	service *Service
	now     time.Time
	asOf    time.Time // time of the first page; later pages have the data of that time
	path    string
	values  map[string]string // of the path's variables
	query   url.Values
	body    []byte
	offset  int // of the page within the list
	wrong   []string
}

func (r *request) reject(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

// integer parses an optional parameter.
func (r *request) integer(name string, otherwise, lowest, highest int) int {
	text := r.query.Get(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if highest < n {
		r.reject("%s must not be greater than %d", name, highest)
	}
	if n < lowest {
		r.reject("%s must not be less than %d", name, lowest)
	}
	if err != nil {
		r.reject("%s must be an integer number", name)
	}
	return n
}

// oneOf validates a value against the allowed ones.
func (r *request) oneOf(name, value string, allowed ...string) string {
	if !slices.Contains(allowed, value) {
		r.reject("%s must be one of the following values: %s", name, strings.Join(allowed, ", "))
	}
	return value
}

// option is oneOf for an optional parameter; the first value is the default.
func (r *request) option(name string, allowed ...string) string {
	if value := r.query.Get(name); value != "" {
		return r.oneOf(name, value, allowed...)
	}
	return allowed[0]
}

// page is the content of a page token.
type page struct {
	path   string
	offset int
	asOf   time.Time
	issued time.Time
}

// pageLifetime is the lifetime of a page token.
const pageLifetime = 24 * time.Hour

// paging parses the page parameters, and returns the page size.
func (r *request) paging(otherwise, highest int) (size int) {
	r.resume()
	return r.integer("pageSize", otherwise, 1, highest)
}

// resume restores the request of the page token.
func (r *request) resume() {
	token := r.query.Get("pageToken")
	if token == "" {
		return
	}
	p, ok := r.service.pages[token]
	if !ok || p.path != r.path || r.now.Sub(p.issued) > pageLifetime {
		r.reject("pageToken is invalid or expired, start again from the first page")
		return
	}
	r.offset, r.asOf = p.offset, p.asOf
}

// cut returns the page of a list and the token of the next; empty on the last page.
func cut[T any](r *request, list []T, size int) (items []T, next string) {
	from := min(r.offset, len(list))
	to := min(from+max(size, 0), len(list))
	if to < len(list) {
		again := r.service.net.opts.PageOverlap
		if again >= to-from || !r.service.keyed {
			again = 0
		}
		next = r.service.token(page{r.path, to - again, r.asOf, r.now})
	}
	return list[from:to], next
}

// token issues a page token in the form of a UUID.
func (s *Service) token(p page) string {
	for t, old := range s.pages {
		if p.issued.Sub(old.issued) > pageLifetime {
			delete(s.pages, t)
		}
	}
	h := s.net.hex(16, "page", p.path, p.offset, p.asOf.UnixNano(), p.issued.UnixNano())[2:]
	t := fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
	s.pages[t] = p
	return t
}
