package scrape

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// refusal returns the error for a status other than 2xx. It uses the body only as a message. With such a status, a node
// usually sends plain text, a service sends JSON, and a proxy sends HTML.
func (u *Upstream) refusal(asked request, r *http.Response) error {
	start, _ := io.ReadAll(io.LimitReader(r.Body, 4<<10))
	words := u.clean(wordsOf(start))
	outcome, say := Unavailable, ""
	switch status := r.StatusCode; {
	case status == http.StatusUnauthorized:
		outcome, say = Forbidden, "credentials missing or wrong: check the headers and the key"
	case status == http.StatusForbidden && strings.Contains(words, "invalid host specified"):
		outcome, say = Forbidden, fmt.Sprintf("the node does not serve the host name %s: start it with --http-allowed-hosts=%[1]s, or send a host name that it "+
			"allows", u.hostname())
		words = ""
	case status == http.StatusForbidden && !u.HasCredentials():
		outcome, say = Forbidden, "not allowed without credentials"
	case status == http.StatusForbidden:
		outcome, say = Forbidden, "the credentials do not allow this"
	case status == http.StatusNotFound && (words == "" || words == "404 page not found"):
		outcome, say = NotFound, "no such path: the chain is not tracked or not created yet, or the API is disabled"
		words = ""
	case status == http.StatusNotFound:
		outcome = NotFound
	case status == http.StatusRequestTimeout:
		outcome = Timeout
	case status == http.StatusTooManyRequests:
		outcome, say = RateLimited, "too many requests"
	case status == http.StatusServiceUnavailable && strings.Contains(words, "not done bootstrapping"):
		outcome, say = Bootstrapping, "the chain is not done bootstrapping"
		words = ""
	case status >= 500:
	case status >= 400: // also 405 and 415: the upstream itself rejected the request
		outcome = Rejected
	default:
		outcome, say = Malformed, "redirects"+u.target(r)+" are not followed: configure the final address"
		words = ""
	}
	text := fmt.Sprintf("HTTP %d", r.StatusCode)
	for _, part := range []string{say, words} {
		if part != "" {
			text += ": " + part
		}
	}
	return &Error{asked.op, outcome, &StatusError{r.StatusCode, text}}
}

func (u *Upstream) hostname() string {
	if host := u.access.Load().host; host != "" {
		return host
	}
	return u.base.Hostname()
}

// target returns scheme and host of a redirect. The rest of the URL may contain a token.
func (u *Upstream) target(r *http.Response) string {
	to, err := url.Parse(r.Header.Get("Location"))
	if err != nil || to.Host == "" {
		return ""
	}
	return " to " + to.Scheme + "://" + to.Host
}

// wordsOf returns the message in the body of an error: {"message": "…"}, {"message": ["…"]}, a JSON-RPC error, or text.
func wordsOf(body []byte) string {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '<' {
		return "an HTML page of a proxy"
	}
	var rest struct {
		Message jsontext.Value `json:"message"`
		Error   jsontext.Value `json:"error"`
	}
	if len(body) == 0 || body[0] != '{' {
		return string(body)
	}
	if json.Unmarshal(body, &rest, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return ""
	}
	for _, value := range []jsontext.Value{rest.Message, rest.Error} {
		var one string
		var many []string
		var inner struct {
			Message string `json:"message"`
		}
		switch {
		case json.Unmarshal(value, &one) == nil && one != "":
			return one
		case json.Unmarshal(value, &many) == nil && len(many) > 0:
			return strings.Join(many, "; ")
		case json.Unmarshal(value, &inner) == nil && inner.Message != "":
			return inner.Message
		}
	}
	return ""
}

// broken returns the Error for an error of the connection.
func (u *Upstream) broken(op string, err error) error {
	err = u.access.Load().secrets.Wrap(err)
	if isLocalLimit(err) {
		return &Error{op, LocalLimit,
			&reason{u.clean(err.Error()) + ": raise the limit of open files (LimitNOFILE), or find the process that uses up file descriptors or ports on the " +
				"exporter's host", err}}
	}
	text := err.Error()
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		text = "the connection was closed before an answer"
	case errors.Is(err, io.ErrUnexpectedEOF):
		text = "the connection was closed in the middle of the answer"
	case errors.As(err, &name):
		text += ": use a host name for which the certificate is valid"
	case errors.As(err, &authority):
		text += ": add the authority that signed the certificate to the CA file of this upstream"
	case errors.As(err, &invalid): // such as an expired certificate
		text += ": replace the certificate of the upstream"
	}
	return &Error{op, Unreachable, &reason{u.clean(text), err}}
}

// longestText is the maximum number of characters of external text in an error.
const longestText = 300

// clean prepares external text for an error: it removes secrets and control characters, and shortens the text to longestText.
func (u *Upstream) clean(text string) string {
	text = u.access.Load().secrets.Hide(text)
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "�"), func(r rune) bool {
		return unicode.IsControl(r) || r == ' ' || unicode.Is(unicode.Cf, r)
	}), " ")
	if runes := []rune(text); len(runes) > longestText {
		text = string(runes[:longestText]) + "…"
	}
	return text
}
