package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/explain"
)

// explainPatience limits the time of an explanation, which makes many queries.
const explainPatience = 10 * time.Second

// explain answers GET /explain?name=ALERT|FAMILY&target=TARGET as text: 404 if the name or the target is unknown.
func (s *Site) explain(w http.ResponseWriter, r *http.Request) {
	if s.Source == nil {
		http.Error(w, errNoSource.Error(), http.StatusNotFound)
		return
	}
	if !sameSite(r) && r.Header.Get("Sec-Fetch-Mode") != "navigate" { // a link in a notification is from another site
		http.Error(w, crossSite, http.StatusForbidden)
		return
	}
	name, target := r.FormValue("name"), r.FormValue("target")
	text, err := s.explanations.get(r.Context(), name+"\x00"+target, explainPatience, func(ctx context.Context) ([]byte, error) {
		text, err := explain.Name(ctx, s.source(), s.Store.Jobs(), name, target, time.Now())
		return []byte(text), err
	})
	var unknown explain.UnknownError
	var failed *apiError
	switch {
	case errors.As(err, &unknown):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.As(err, &failed):
		http.Error(w, "no explanation: "+err.Error(), failed.status)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(text)
	}
}
