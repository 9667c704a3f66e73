// Package secret keeps secrets out of errors, logs and pages. Values are the secrets that a request carries: a server may repeat what
// it received, and libraries add addresses to their errors. HideQuoted is for a file that could not be decoded, in which a secret may be
// in a wrong place.
package secret

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Values are the secrets of a client.
type Values []string

// shortest is the minimum length of a secret in bytes. A shorter text also occurs in ordinary words.
const shortest = 4

// Add adds secrets, also in the forms in which URLs and JSON contain them.
func (v *Values) Add(texts ...string) {
	for _, text := range texts {
		if escaped := strconv.Quote(text); len(text) >= shortest {
			*v = append(*v, text, url.QueryEscape(text), url.PathEscape(text), escaped[1:len(escaped)-1])
		}
	}
}

// AddUser adds a password, as text and as requests send it. Without a password, the user is the secret.
func (v *Values) AddUser(user, password string) {
	v.Add(cmp.Or(password, user), user+":"+password, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
}

// AddHeader adds the values of a header, with and without a scheme such as Bearer, and the password of basic authentication.
func (v *Values) AddHeader(h http.Header) {
	for _, values := range h {
		for _, value := range values {
			scheme, bare, _ := strings.Cut(value, " ")
			v.Add(value, bare)
			if pair, err := base64.StdEncoding.DecodeString(bare); err == nil && strings.EqualFold(scheme, "Basic") {
				user, password, _ := strings.Cut(string(pair), ":")
				v.AddUser(user, password)
			}
		}
	}
}

var address = regexp.MustCompile(`(?i)"[a-z][a-z0-9+.-]*://(?:[^"\\]|\\.)*"|\b[a-z][a-z0-9+.-]*://[^\s"]+`)

// cut is the end of a text that was shortened.
const cut = "…"

// Hide returns a text without the secrets and without addresses. The beginning of a secret is hidden too, where the text was cut.
func (v Values) Hide(text string) string {
	text = address.ReplaceAllLiteralString(text, "<address>")
	var pairs []string
	for _, secret := range slices.SortedFunc(slices.Values(v), func(a, b string) int { return len(b) - len(a) }) {
		pairs = append(pairs, secret, "<secret>")
	}
	parts := strings.Split(strings.NewReplacer(pairs...).Replace(text), cut)
	for i := range parts[:len(parts)-1] {
		parts[i] = v.hideBeginning(parts[i])
	}
	return strings.Join(parts, cut)
}

// hideBeginning hides the beginning of a secret at the end of a text.
func (v Values) hideBeginning(text string) string {
	longest := 0
	for _, secret := range v {
		for n := min(len(secret), len(text)); n >= shortest && n > longest; n-- {
			if strings.HasSuffix(text, secret[:n]) {
				longest = n
			}
		}
	}
	if longest == 0 {
		return text
	}
	return text[:len(text)-longest] + "<secret>"
}

// hidden is an error with another text.
type hidden struct {
	error
	text string
}

func (h hidden) Error() string { return h.text }
func (h hidden) Unwrap() error { return h.error }

// Wrap returns the error with the text that Hide returns, without the address that net/http adds to errors.
func (v Values) Wrap(err error) error {
	if err == nil {
		return nil
	}
	inner := err
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		inner = outer.Err
	}
	return hidden{err, v.Hide(inner.Error())}
}

// quoted matches the values that libraries for YAML and URLs repeat in errors. Such a value may contain line breaks and quotes. The
// names of keys, headers, receivers and intervals stay.
var quoted = regexp.MustCompile("(?s)`.*`|((?:key|header|interval|receiver) )?\"(?:[^\"\\\\]|\\\\.)*\"")

// HideQuoted returns the text of an error about a file, without values of the file and without line breaks.
func HideQuoted(text string) string {
	text = quoted.ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '`' || found[0] == '"' {
			return "…"
		}
		return found
	})
	return strings.Join(strings.Fields(text), " ")
}
