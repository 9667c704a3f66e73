package webconfig

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"golang.org/x/time/rate"
)

// door lets in who knows a password, and not too often.
type door struct {
	file   string
	inside http.Handler
	log    *slog.Logger
	limit  *rate.Limiter // nil: none

	compare   func(hash, password []byte) error // bcrypt's
	comparing sync.Mutex                        // one at a time: it takes a core
	good      sync.Map                          // sums of names, hashes and passwords that were found to be right
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(status int) { http.Error(w, http.StatusText(status), status) }
	if d.limit != nil && !d.limit.Allow() {
		answer(http.StatusTooManyRequests)
		return
	}
	c, err := read(d.file)
	if err != nil {
		d.log.Error("nobody is let in: the web configuration is bad", "file", d.file, "err", err)
		answer(http.StatusInternalServerError)
		return
	}
	for name, value := range c.HTTP.Headers {
		w.Header().Set(name, value)
	}
	if len(c.Users) > 0 {
		name, password, given := r.BasicAuth()
		if !given || !d.knows(c.Users, name, password) {
			w.Header().Set("WWW-Authenticate", "Basic")
			answer(http.StatusUnauthorized)
			return
		}
	}
	d.inside.ServeHTTP(w, r)
}

// knows compares slowly, as bcrypt does, and remembers what was right. A name that
// is not there takes as long as a wrong password.
func (d *door) knows(users map[string]string, name, password string) bool {
	hash, known := users[name]
	if !known {
		for _, hash = range users {
			break
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", name, hash, password))
	if _, right := d.good.Load(sum); right {
		return true
	}
	d.comparing.Lock()
	err := d.compare([]byte(hash), []byte(password))
	d.comparing.Unlock()
	if !known || err != nil {
		return false
	}
	d.good.Store(sum, nil)
	return true
}
