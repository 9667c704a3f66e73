package secret_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/secret"
)

// A server repeats all that it received, and the library adds the address.
func TestWrappedErrorsContainNoSecretOfTheRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Two marks, so that a part of a secret is found too.
		text := "c4n4ry" + rapid.StringMatching(`[ -~]{0,8}`).Draw(t, "secret") + "p4rr0t"
		user := rapid.StringMatching(`[a-z]{1,4}`).Draw(t, "user")
		pair := base64.StdEncoding.EncodeToString([]byte(user + ":" + text))
		r := http.Request{Header: http.Header{"Authorization": {"Bearer " + text}, "X-Key": {text}}}
		if rapid.Bool().Draw(t, "basic") {
			r.SetBasicAuth(user, text)
		}
		var values secret.Values
		values.AddHeader(r.Header)
		address := url.URL{Scheme: "https", User: url.UserPassword(user, text), Host: "host", Path: "/" + text, RawQuery: url.QueryEscape(text)}
		echo := fmt.Errorf("you sent %s, %q, %v, %s, %s, %s to %s", text, text, r.Header, pair, url.QueryEscape(text), url.PathEscape(text), &address)
		cause := errors.New("cause")
		err := values.Wrap(&url.Error{Op: "Get", URL: address.String(), Err: errors.Join(echo, cause)})
		if told := err.Error(); strings.Contains(told, "c4n4ry") || strings.Contains(told, "p4rr0t") || strings.Contains(told, pair) &&
			r.Header.Get("Authorization") == "Basic "+pair {
			t.Errorf("%q", told)
		}
		if !errors.Is(err, cause) {
			t.Error("the cause is lost")
		}
	})
}

// A text may be cut anywhere before its secrets are hidden.
func TestBeginningOfASecretIsHiddenWhereATextWasCut(t *testing.T) {
	var values secret.Values
	values.AddUser("me", "c4n4ry-p4rr0t")
	for _, said := range []string{"c4n4ry-p4rr0t", "me:c4n4ry-p4rr0t", base64.StdEncoding.EncodeToString([]byte("me:c4n4ry-p4rr0t"))} {
		for n := range len(said) {
			text := "you sent " + said[:n] + "…: invalid"
			if got := values.Hide(text); n >= 4 && got != "you sent <secret>…: invalid" || n < 4 && got != text {
				t.Errorf("%s: %s", text, got)
			}
		}
	}
}

func TestHideQuotedKeepsNames(t *testing.T) {
	for text, want := range map[string]string{
		"line 3: cannot unmarshal !!str `c4n`\n4ry` into int": "line 3: cannot unmarshal !!str … into int",
		`parse "http://u:c4n\"4ry@no host": invalid`:          `parse …: invalid`,
		`unsupported scheme "c4n4ry" for URL`:                 `unsupported scheme … for URL`,
		`mapping key "targets" already defined at line 1`:     `mapping key "targets" already defined at line 1`,
		`undefined receiver "phone" used in route`:            `undefined receiver "phone" used in route`,
	} {
		if got := secret.HideQuoted(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	address := `parse "http://me:c4n 4ry@no host": invalid, see https://docs.example/c4n4ry`
	if got := (secret.Values{}).Hide(address); got != "parse <address>: invalid, see <address>" {
		t.Error(got)
	}
}
