package web

import (
	"errors"
	"net/http"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/explain"
)

// explain answers GET /explain?name=ALERT|FAMILY&target=TARGET as text: 404 if the name or the target is unknown.
func (s *Site) explain(w http.ResponseWriter, r *http.Request) {
	if s.Source == nil {
		http.Error(w, errNoSource.Error(), http.StatusNotFound)
		return
	}
	s.explaining.Lock() // one at a time: an explanation makes many queries
	defer s.explaining.Unlock()
	text, err := explain.Name(r.Context(), s.Source, s.Store.Jobs(), r.FormValue("name"), r.FormValue("target"), time.Now())
	var unknown explain.UnknownError
	switch {
	case errors.As(err, &unknown):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte(text))
	}
}
