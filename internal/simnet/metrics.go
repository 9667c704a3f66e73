package simnet

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Service is the metrics service, a REST interface over the whole network. It is an http.Handler.
type Service struct {
	door
	stopped bool
	pages   map[string]page
}

// page is what a page token stands for.
type page struct {
	series string
	offset int
	issued time.Time
}

const (
	pageSize     = 100
	pageLifetime = 24 * time.Hour
	tpsHistory   = 365              // days
	tpsPeriod    = 10 * time.Minute // between two updates
)

func newService(net *Network) *Service {
	s := &Service{pages: make(map[string]page)}
	s.door = door{
		net:     net,
		name:    "metrics",
		listens: func(time.Time) bool { return !s.stopped },
		wakes:   func(time.Time) time.Time { return time.Time{} },
		respond: s.respond,
		refuse:  func(status int, text string) reply { return restError(status, text) },
		pattern: func(path string) string {
			if strings.HasPrefix(path, avgTPSPath) {
				return avgTPSPath + "{chainId}"
			}
			return path
		},
	}
	return s
}

const avgTPSPath = "/v1/avg_tps/"

// tpsTruth is the throughput of the EVM chains, day by day.
type tpsTruth struct {
	mean map[string]float64  // by series, around which the days vary
	set  map[string][]tpsSet // what SetTPS said, oldest first
	held time.Time           // no update after this; zero while updates come
}

type tpsSet struct {
	from  time.Time // beginning of a day
	value float64
}

func (t *tpsTruth) build(truth *truth) {
	t.mean, t.set = make(map[string]float64), make(map[string][]tpsSet)
	for _, c := range truth.chains {
		if c.evmID != 0 {
			t.mean[u64(c.evmID)] = []float64{2.1, 0.8, 0.3}[len(t.mean)%3]
		}
	}
	t.mean["total"] = 3.2
}

// dayTPS is the average of a day, with two decimals.
func (t *truth) dayTPS(series string, day time.Time) float64 {
	set := t.tps.set[series]
	for i := len(set) - 1; i >= 0; i-- {
		if !day.Before(set[i].from) {
			return set[i].value
		}
	}
	v := t.tps.mean[series] * (0.6 + 0.8*t.chance("tps", series, day.Unix()))
	return math.Round(100*v) / 100
}

type tpsPoint struct {
	Timestamp int64   `json:"timestamp"`
	Value     float64 `json:"value"`
}

type tpsPage struct {
	Results       []tpsPoint `json:"results"`
	Status        int        `json:"status"`
	LastRun       int64      `json:"lastRun"`
	NextPageToken string     `json:"nextPageToken,omitempty"`
	NextStartKey  string     `json:"nextPageStartKey,omitempty"`
}

// restError is an error body of the REST interfaces; the metrics service may write several messages.
func restError(status int, messages ...string) reply {
	return newReply(status, "application/json; charset=utf-8", encode(struct {
		Message    []string `json:"message"`
		Error      string   `json:"error"`
		StatusCode int      `json:"statusCode"`
	}{messages, http.StatusText(status), status}))
}

// respond answers a request, with the lock held.
func (s *Service) respond(now time.Time, q *query) reply {
	series, ok := strings.CutPrefix(q.URL.Path, avgTPSPath)
	if !ok || q.Method != http.MethodGet || strings.Contains(series, "/") {
		return restError(http.StatusNotFound, "Cannot "+q.Method+" "+q.URL.Path)
	}
	_, known := s.net.tps.mean[series]
	if _, err := strconv.ParseUint(series, 10, 64); err != nil && !known {
		return restError(http.StatusBadRequest, "chainId must be an EVM chain id or one of: total")
	}
	key := "pageToken"
	if s.net.opts.StartKeyPaging {
		key = "startKey"
	}
	offset := 0
	if token := q.URL.Query().Get(key); token != "" {
		p, ok := s.pages[token]
		if !ok || p.series != series || now.Sub(p.issued) > pageLifetime {
			return restError(http.StatusBadRequest, key+" is invalid or expired, start again from the first page")
		}
		offset = p.offset
	}

	updated := now
	if !s.net.tps.held.IsZero() {
		updated = s.net.tps.held
	}
	updated = updated.Truncate(tpsPeriod)
	newest := updated.Truncate(day)
	body := tpsPage{Results: []tpsPoint{}, Status: http.StatusOK, LastRun: updated.Unix()}
	if known {
		for i := offset; i < min(offset+pageSize, tpsHistory); i++ {
			at := newest.Add(-time.Duration(i) * day)
			value := s.net.dayTPS(series, at)
			if i == 0 { // the newest bucket holds only what the day has brought so far
				value = math.Round(100*value*updated.Sub(newest).Hours()/24) / 100
			}
			body.Results = append(body.Results, tpsPoint{at.Unix(), value})
		}
		if next := offset + pageSize; next < tpsHistory {
			token := s.token(page{series, next, now})
			if s.net.opts.StartKeyPaging {
				body.NextStartKey = token
			} else {
				body.NextPageToken = token
			}
		}
	}
	return newReply(http.StatusOK, "application/json; charset=utf-8", encode(body))
}

// token issues a page token in the shape of a UUID.
func (s *Service) token(p page) string {
	for t, old := range s.pages {
		if p.issued.Sub(old.issued) > pageLifetime {
			delete(s.pages, t)
		}
	}
	h := s.net.hex(16, "page", p.series, p.offset, p.issued.UnixNano())[2:]
	t := fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
	s.pages[t] = p
	return t
}
