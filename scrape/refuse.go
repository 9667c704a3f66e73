package scrape

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// rule is a row of the table of refusals. A refusal matches if each part that the row has matches. A refusal is an HTTP status other than 2xx,
// with the text of its body, or a JSON-RPC error of any status.
type rule struct {
	statuses []int
	codes    []int          // of the JSON-RPC error
	words    *regexp.Regexp // found in the text of the upstream
	outcome  Outcome
	say      string // what it means, before the text of the upstream
	spent    bool   // a quota of a day or a month is spent, so a short pause is useless
}

// rules is the table of refusals: the first row that matches decides. Gateways of several providers answer with status 200, and use the codes
// of JSON-RPC in different ways, so texts come before codes, and codes before statuses. The outcome decides whether the upstream counts as answering
// (answered), whether a call is repeated (retryDelay) and what the operator can do (package remedy).
var rules = []rule{
	{statuses: []int{403}, words: text(`invalid host specified`), outcome: Forbidden},
	{words: text(`not done bootstrapping`), outcome: Bootstrapping, say: "the chain is not done bootstrapping"},

	{words: text(`query returned more than|response (size|too large)|block range|ranges? over`), outcome: Rejected},
	{words: text(`(daily|monthly) (request|quota|limit|usage)|request count exceeded|quota|usage limit|payment required|(out of|insufficient|no) (api )?credits?`),
		outcome: RateLimited, say: "the quota is spent", spent: true},
	{statuses: []int{402}, outcome: RateLimited, say: "the quota is spent", spent: true},
	{words: text(`rate.?limit|too many (requests?|calls)|requests? (limit|rate)|limit (exceeded|reached)|(requests|units|calls)( per |/)(second|minute)|throttl|` +
		`rps limit|over (rate|capacity)|call rate`), outcome: RateLimited, say: "too many requests"},

	{statuses: []int{200, 400, 403, 500, 502, 503, 504}, words: text(
		`no (healthy |available )?(backend|upstream|provider)s?\b|no (healthy|available) nodes?\b|backend (is )?(currently )?(offline|not healthy|unhealthy)|` +
			`bad gateway|gateway time-?out|service (is )?(temporarily )?unavailable|upstream (connect|request) |relay attempts exhausted`), outcome: Unavailable},

	{words: text(`can't find (method|service)|method\b.{0,80}\b(does not exist|not (been )?(found|whitelisted|available|supported|allowed|enabled|` +
		`exposed|permitted)|` +
		`unsupported|disabled|blocked|deprecated|removed|unavailable)|(unsupported|unknown|unrecognized|disallowed|forbidden|no such) (rpc )?method|whitelist`),
		outcome: NotOffered},
	{words: text(`api.?key|unauthori[sz]ed|authenticat|access denied|project id|not authori[sz]ed`), statuses: []int{200, 400}, codes: notNode, outcome: Forbidden,
		say: "credentials missing or wrong: check the headers and the key"},

	{codes: []int{429, -32005, -32012, -32029, -32090}, outcome: RateLimited, say: "too many requests"},
	{codes: []int{402}, outcome: RateLimited, say: "the quota is spent", spent: true},
	{codes: []int{502, 503, 504, -32010, -32011, -32013, -32018, -32050}, outcome: Unavailable},
	{codes: []int{-32001, -32004, -32601, 405, 501}, outcome: NotOffered},
	{codes: []int{401, 403}, outcome: Forbidden, say: "credentials missing or wrong: check the headers and the key"},

	{statuses: []int{401}, outcome: Forbidden, say: "credentials missing or wrong: check the headers and the key"},
	{statuses: []int{403, 451}, outcome: Forbidden, say: "not allowed"},
	{statuses: []int{400}, words: plainToTLS, outcome: Malformed, say: "the server speaks TLS: write https:// in its address"},
	{statuses: []int{404}, words: text(`^(404 page not found)?$`), outcome: NotFound,
		say: "no such path: the chain is not tracked or not created yet, or the API is disabled"},
	{statuses: []int{404}, outcome: NotFound},
	{statuses: []int{405, 501}, outcome: NotOffered},
	{statuses: []int{408}, outcome: Timeout},
	{statuses: []int{429}, outcome: RateLimited, say: "too many requests"},
}

// plainToTLS matches what servers with TLS answer to a request without: those in Go, nginx, Apache and Tomcat.
var plainToTLS = text(`http request (was sent )?to (an )?https (server|port)|plain http to an ssl-enabled|requires tls`)

// SpeaksTLS reports whether the body of an answer says that the request lacks TLS.
func SpeaksTLS(status int, body []byte) bool {
	return status == http.StatusBadRequest && plainToTLS.Match(body)
}

// notNode are the codes of JSON-RPC errors of which a gateway says that a key is wrong. A node uses -32000 for all its errors.
var notNode = []int{-32000, -32001, -32002, -32003, -32600, -32602, -32603}

func text(pattern string) *regexp.Regexp { return regexp.MustCompile("(?i)" + pattern) }

// classify returns the row for a refusal. Code is 0 without a JSON-RPC error.
func classify(status, code int, words string) rule {
	for _, r := range rules {
		if (r.statuses == nil || slices.Contains(r.statuses, status)) && (r.codes == nil || slices.Contains(r.codes, code)) &&
			(r.words == nil || r.words.MatchString(words)) {
			return r
		}
	}
	if status >= 500 {
		return rule{outcome: Unavailable}
	}
	return rule{outcome: Rejected} // also 413 and 415, wrong parameters and internal errors: the upstream itself rejected the request
}

// refusal returns the error for a status other than 2xx. It uses the body only as a message. With such a status, a node
// usually sends plain text, a service sends JSON, and a proxy sends HTML.
func (u *Upstream) refusal(asked request, r *http.Response) error {
	start, _ := io.ReadAll(io.LimitReader(r.Body, 4<<10))
	words, code := wordsOf(start)
	words = u.clean(words)
	row := classify(r.StatusCode, code, words)
	outcome, say := row.outcome, row.say
	switch {
	case r.StatusCode < 400:
		outcome, say = Malformed, "redirects"+u.target(r)+" are not followed: configure the final address"
		words = ""
	case outcome == Forbidden && strings.Contains(words, "invalid host specified"):
		say = fmt.Sprintf("the node does not serve the host name %s: start it with --http-allowed-hosts=%[1]s, or send a host name that it allows", u.hostname())
		words = ""
	case r.StatusCode == http.StatusForbidden && u.limiter.onlyThis(asked, ""):
		outcome, say = NotOffered, "this method is blocked, other methods are answered"
	case outcome == Forbidden && r.StatusCode != http.StatusUnauthorized && u.HasCredentials():
		say = "the credentials do not allow this"
	case outcome == Forbidden && r.StatusCode != http.StatusUnauthorized:
		say = "not allowed without credentials"
	case outcome == NotFound && u.limiter.onlyThis(asked, asked.path):
		outcome, say = NotOffered, "this method is not offered, others at this path are"
		words = ""
	case outcome == NotFound && say != "" && (!strings.Contains(asked.path, "/bc/") || strings.HasSuffix(asked.path, "/bc/P")):
		say, words = "no such path: no node answers at this address, or the API is disabled", ""
	case outcome == Bootstrapping, outcome == NotFound && say != "":
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

// wordsOf returns the message in the body of an error, and the code of a JSON-RPC error: {"message": "…"}, {"message": ["…"]}, a JSON-RPC error, or
// text.
func wordsOf(body []byte) (words string, code int) {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '<' && bytes.Contains(body, []byte("plain HTTP request was sent to HTTPS port")) {
		return "plain HTTP request was sent to HTTPS port", 0
	}
	if len(body) > 0 && body[0] == '<' {
		return "an HTML page of a proxy", 0
	}
	var rest struct {
		Message jsontext.Value `json:"message"`
		Error   jsontext.Value `json:"error"`
	}
	if len(body) == 0 || body[0] != '{' {
		return string(body), 0
	}
	if json.Unmarshal(body, &rest, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return "", 0
	}
	for _, value := range []jsontext.Value{rest.Message, rest.Error} {
		var one string
		var many []string
		var inner rpcErrorBody
		switch {
		case json.Unmarshal(value, &one) == nil && one != "":
			return one, 0
		case json.Unmarshal(value, &many) == nil && len(many) > 0:
			return strings.Join(many, "; "), 0
		case json.Unmarshal(value, &inner) == nil && (inner.Message != "" || inner.Code != 0):
			return string(inner.Message), int(inner.Code)
		}
	}
	return "", 0
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
	case IsOfStaking(err):
		return u.untrusted(op, err, StakingPort)
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		text = "the connection was closed before an answer"
	case errors.Is(err, io.ErrUnexpectedEOF):
		text = "the connection was closed in the middle of the answer"
	case strings.Contains(text, `malformed HTTP response "\x15\x03`): // an alert of TLS
		text = "the server speaks TLS: write https:// in its address, or the port of the API (9650) instead of that of staking (9651)"
	case errors.As(err, &name):
		return u.untrusted(op, err, "Use a host name for which the certificate is valid, or set server_name in AVAX_HTTP_CONFIG_FILE.")
	case errors.As(err, &authority):
		return u.untrusted(op, err, "Add the authority that signed the certificate to ca_file in AVAX_HTTP_CONFIG_FILE.")
	case errors.As(err, &invalid): // such as an expired certificate
		return u.untrusted(op, err, "Replace the certificate of the upstream.")
	}
	return &Error{op, Unreachable, &reason{u.clean(text), err}}
}

// StakingPort is the advice for an address whose certificate names no host.
const StakingPort = "The certificate names no host, as on the staking port of a node (by default 9651). " +
	"Write the port of its API (by default http:// and 9650). If this is that port, replace the certificate."

// IsOfStaking reports whether an error is about a certificate that names no host, as those that AvalancheGo makes for its staking port (1.15.0,
// staking/tls.go).
func IsOfStaking(err error) bool {
	unverified, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok || len(unverified.UnverifiedCertificates) == 0 {
		return false
	}
	c := unverified.UnverifiedCertificates[0]
	return len(c.DNSNames)+len(c.IPAddresses)+len(c.URIs) == 0
}

// untrusted returns the Error for a certificate that this process does not accept, with what to do.
func (u *Upstream) untrusted(op string, err error, remedy string) error {
	return &Error{op, Unreachable, Advise(&reason{u.clean(err.Error()), err}, remedy)}
}

// viaProxy adds to the error of a request that the upstream did not answer itself that the environment sends it through a proxy.
func (u *Upstream) viaProxy(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || u.proxy == "" {
		return err
	}
	text := e.Error()
	switch {
	case e.Outcome == Unreachable, e.Outcome == Timeout, e.Outcome == Unavailable, e.Outcome == Malformed:
	case strings.Contains(text, "HTML page") || strings.Contains(text, "HTTP 407"):
	default:
		return err
	}
	return &Error{e.Op, e.Outcome, Advise(fmt.Errorf("%w (through the proxy of %s)", e.Err, u.proxy),
		fmt.Sprintf("The environment variable %s sends the requests through a proxy. If the upstream is in your own network, add %s to NO_PROXY.",
			u.proxy, u.base.Hostname()))}
}

// proxyVariable returns the variable that names the proxy for an address; empty without one.
func proxyVariable(o Options, base *url.URL) string {
	if o.Transport != nil {
		return ""
	}
	return ProxyVariable(base)
}

// ProxyVariable returns the environment variable through whose proxy an address is requested; empty without one.
func ProxyVariable(base *url.URL) string {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: base})
	if proxy == nil && err == nil {
		return ""
	}
	return strings.ToUpper(base.Scheme) + "_PROXY"
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
