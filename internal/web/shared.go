package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// renderTimeout limits the queries of one page.
const renderTimeout = 10 * time.Second

// shared is a page that all requests within a second share. Only one request at a time renders it, so any number of browsers
// needs at most one CPU core.
type shared struct {
	mu   sync.Mutex
	at   time.Time // time of rendering
	key  string
	page []byte
}

// get returns the page. It renders the page again if it is older than a second or has another key. Rendering continues if the request is
// cancelled, because other requests get the same page. It ends after renderTimeout.
func (s *shared) get(r *http.Request, key string, write func(context.Context, io.Writer) error) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == s.key && time.Since(s.at) < time.Second {
		return s.page, nil
	}
	var page bytes.Buffer
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), renderTimeout)
	defer cancel()
	if err := write(ctx, &page); err != nil {
		return nil, err
	}
	s.page, s.key, s.at = page.Bytes(), key, time.Now()
	return s.page, nil
}

// writePage writes a page, with gzip if the client accepts it.
func writePage(w http.ResponseWriter, r *http.Request, page []byte) error {
	w.Header().Add("Vary", "Accept-Encoding")
	if !metric.AcceptsGzip(r) {
		_, err := w.Write(page)
		return err
	}
	w.Header().Set("Content-Encoding", "gzip")
	zip := gzip.NewWriter(w)
	_, err := zip.Write(page)
	return errors.Join(err, zip.Close())
}
