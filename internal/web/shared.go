package web

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/pack"
)

// sharedFor is the maximum age of a shared page.
const sharedFor = time.Second

// shared is a page that all requests within a second share. Only one request at a time renders it, so any number of requests
// needs at most one CPU core.
type shared struct {
	mu   sync.Mutex
	at   time.Time // time of rendering
	key  string
	page pack.Blocks
}

// get returns the page. It renders the page again if it is too old or has another key.
func (s *shared) get(key string, write func(io.Writer) error) (pack.Blocks, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == s.key && !s.at.IsZero() && time.Since(s.at) < sharedFor {
		return s.page, nil
	}
	var p pack.Packer
	if err := write(&p); err != nil {
		return nil, err
	}
	s.page, s.key, s.at = p.Blocks(), key, time.Now()
	return s.page, nil
}

// writePage writes a page in an encoding.
func writePage(w http.ResponseWriter, page pack.Blocks, encoding string) error {
	if encoding == "gzip" {
		w.Header().Set("Content-Length", strconv.Itoa(page.GzipLen()))
		return page.WriteGzip(w)
	}
	body := zip(w, encoding)
	_, err := page.WriteTo(body)
	return errors.Join(err, body.Close())
}
