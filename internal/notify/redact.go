package notify

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"

	amconfig "github.com/prometheus/alertmanager/config"
)

// redacted is the error of a receiver without secrets. Secrets are removed because a receiver may repeat what it received, and
// because libraries add URLs to errors.
type redacted struct {
	error
	text string
}

func (r redacted) Error() string { return r.text }
func (r redacted) Unwrap() error { return r.error }

var address = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"]+`)

// redact removes from an error the URLs and the secrets of the receiver's configuration.
func redact(err error, of amconfig.Receiver) error {
	if err == nil {
		return nil
	}
	text := address.ReplaceAllLiteralString(err.Error(), "<address>")
	var needs needs
	needs.of(reflect.ValueOf(of))
	slices.SortFunc(needs.secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, secret := range needs.secrets {
		text = strings.ReplaceAll(text, secret, "<secret>")
	}
	return redacted{err, text}
}
