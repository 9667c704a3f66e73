package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/kelseyhightower/envconfig"

	"github.com/avax-exporter/avax-exporter/internal/spelling"
)

const prefix = "AVAX_"

// Environment holds the values of environment variables, by name without the prefix AVAX_.
type Environment map[string]string

// Values are the values of all environment variables. The name of a field is the name of its variable, as envconfig splits it into
// words. The type of a field decodes its value. The tags and descriptions.go are the documentation: docs/configuration.md and the help are
// generated from them. With the tag empty, the empty value has a meaning of its own; otherwise it stands for the default. The variables with a tag brief come
// first in both.
type Values struct {
	Nodes          NodeList `default:"local=http://127.0.0.1:9650" empty:"true" subject:"Nodes and chains" brief:"your nodes, as name=url, comma-separated"`
	NodesFile      string   `split_words:"true"`
	Network        Network
	Observers      NodeList
	ObserverBudget Count      `split_words:"true" default:"60"`
	Chains         Chains     `default:"C,auto" empty:"true" brief:"chains added to P and X; C and all tracked ones by default"`
	Validators     Validators `default:"own"`
	ValidatorsFile string     `split_words:"true"`

	HTTPConfigFile string   `split_words:"true" subject:"Requests"`
	Timeout        Duration `default:"10s"`
	Concurrency    Count    `default:"4"`

	Collectors Collectors `subject:"Collectors"`
	Schedules  Schedules

	WatchFile       string `split_words:"true" subject:"Addresses, assets and contracts"`
	WatchAddresses  string `split_words:"true"`
	WatchDelegators string `split_words:"true"`
	WatchAssets     string `split_words:"true"`
	WatchContracts  string `split_words:"true"`
	WatchTokens     string `split_words:"true"`
	WatchSignatures string `split_words:"true"`
	ICMMessengers   string `split_words:"true"`

	DataURL        DataURL    `split_words:"true" subject:"Data and Metrics services"`
	DataAPIKeyFile string     `split_words:"true"`
	DataBudget     DataBudget `split_words:"true" default:"6000/m,1200000/d"`
	MetricsURL     MetricsURL `split_words:"true"`
	Currency       Currency   `default:"usd"`

	Listen        Address `default:":9865" subject:"Web server"`
	WebConfigFile string  `split_words:"true"`
	TrustLoopback Switch  `split_words:"true" default:"true"`
	PprofListen   Address `split_words:"true"`

	EvaluateRules    Switch         `envconfig:"ALERTING" default:"on" subject:"Alert rules" brief:"off if a Prometheus evaluates the alert rules"`
	RulesFile        string         `split_words:"true"`
	AlertingInterval Duration       `split_words:"true" default:"15s"`
	AlertLabels      AlertLabels    `split_words:"true"`
	ExternalLabels   ExternalLabels `split_words:"true"`
	ExternalURL      ExternalURL    `split_words:"true"`
	PrometheusURL    PrometheusURL  `split_words:"true"`

	Alertmanagers AlertmanagerURLs `subject:"Notifications" brief:"URLs of your Alertmanagers, if you have them"`
	NotifyFile    string           `split_words:"true" brief:"file with receivers, if you have no Alertmanager"`
	HeartbeatURL  HeartbeatURL     `split_words:"true"`
	Digest        Switch           `default:"off"`

	Shard       Index     `default:"0" subject:"Shards, state and log"`
	TotalShards Count     `split_words:"true" default:"1"`
	StateDir    Directory `split_words:"true" brief:"directory for state that survives a restart"`
	LogLevel    LogLevel  `split_words:"true" default:"INFO"`
	LogFormat   LogFormat `split_words:"true" default:"auto"`
}

// Variable is an environment variable.
type Variable struct {
	Name        string // without the prefix AVAX_
	Default     string
	Description string
	Subject     string // heading
	Brief       string // of the variables that most operators need

	empty bool
}

// Variables lists every variable, grouped by subject.
var Variables = sync.OnceValue(func() (all []Variable) {
	var names strings.Builder
	if err := envconfig.Usagef(strings.TrimSuffix(prefix, "_"), new(Values), &names, "{{range .}}{{usage_key .}} {{end}}"); err != nil {
		panic(err) // only an invalid template or structure
	}
	subject := ""
	for i, name := range strings.Fields(names.String()) {
		field := reflect.TypeFor[Values]().Field(i)
		text, described := descriptions[field.Name]
		if !described {
			panic("config: descriptions has no text about " + field.Name)
		}
		subject = cmp.Or(field.Tag.Get("subject"), subject)
		all = append(all, Variable{strings.TrimPrefix(name, prefix), field.Tag.Get("default"), text, subject, field.Tag.Get("brief"), field.Tag.Get("empty") != ""})
	}
	if len(all) != len(descriptions) {
		panic("config: descriptions has a text about no variable")
	}
	return all
})

// decode returns the values of the variables, and an error for each invalid one. A variable without value and default has the zero
// value.
func (env Environment) decode(v *Values) (problems []error) {
	fields := reflect.ValueOf(v).Elem()
	for i, variable := range Variables() {
		value, set := env[variable.Name]
		if value == "" && !(set && variable.empty) {
			value = variable.Default
		}
		if value == "" {
			continue
		}
		if first, _ := utf8.DecodeRuneInString(value); strings.ContainsRune(quotes, first) {
			problems = append(problems, fmt.Errorf("%s%s: the value is in quotation marks: remove them: a file for docker --env-file has none", prefix, variable.Name))
			continue
		}
		var err error
		switch field := fields.Field(i).Addr().Interface().(type) {
		case *string:
			*field = value
		case envconfig.Decoder:
			err = field.Decode(value)
		}
		for _, err := range split(err) {
			problems = append(problems, fmt.Errorf("%s%s: %w", prefix, variable.Name, err))
		}
	}
	return problems
}

// trimmed returns the values without spaces around them, such as the carriage returns of a file from Windows.
func (env Environment) trimmed() Environment {
	trimmed := Environment{}
	for name, value := range env {
		trimmed[name] = strings.TrimSpace(value)
	}
	return trimmed
}

// quotes are the quotation marks of a shell, and those of word processors. No value begins with one.
const quotes = "\"'`‘’“”„«»"

// variable returns the name of the variable of a field, which is given by its address.
func (v *Values) variable(field any) string {
	fields := reflect.ValueOf(v).Elem()
	for i, variable := range Variables() {
		if fields.Field(i).Addr().Interface() == field {
			return prefix + variable.Name
		}
	}
	panic(fmt.Sprintf("config: %T is no field of Values", field))
}

// Load parses the environment of the process. The error joins all problems, each with a remedy. It contains no secret.
func Load() (*Config, error) { return processEnvironment().Parse() }

// LoadServing is Load for a command that calls no configured upstream. It ignores the settings of upstreams: what is monitored,
// credentials and state. It ignores what is monitored as a whole, because these variables are valid only together. Ignored has those that are
// set.
func LoadServing() (*Config, error) {
	var ignored []string
	env := processEnvironment()
	for _, v := range Variables() {
		switch {
		case v.Subject == "Nodes and chains", v.Subject == "Addresses, assets and contracts":
		case v.Name == "HTTP_CONFIG_FILE", v.Name == "DATA_API_KEY_FILE", v.Name == "STATE_DIR":
		default:
			continue
		}
		if env[v.Name] != "" {
			ignored = append(ignored, prefix+v.Name)
		}
		delete(env, v.Name)
	}
	c, err := env.Parse()
	if err == nil {
		c.Ignored = ignored
	}
	return c, err
}

// LoadOnly is Load for a command that needs one variable, named without the prefix. All others have their defaults.
func LoadOnly(name string) (*Config, error) {
	return Environment{name: os.Getenv(prefix + name)}.Parse()
}

// processEnvironment returns the variables of this process with the prefix, including unknown ones.
func processEnvironment() Environment {
	env := Environment{}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if own, ours := strings.CutPrefix(name, prefix); ours && !isServiceLink(name, value) {
			env[own] = value
		}
	}
	return env
}

// unknown returns an error for each unknown variable. Without this check, a misspelled variable would be ignored silently.
func (env Environment) unknown() (problems []error) {
	var known []string
	for _, v := range Variables() {
		known = append(known, v.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		remedy := "see avax-exporter help all"
		switch near := spelling.Near(name, known); {
		case slices.Contains(known, name):
			continue
		case len(near) > 0:
			remedy = fmt.Sprintf("did you mean %s%s?", prefix, near[0])
		}
		problems = append(problems, fmt.Errorf("%s%s: unknown variable; %s", prefix, name, remedy))
	}
	return problems
}

// isServiceLink reports whether Kubernetes set this variable for a Service. The variables of Services such as avax and avax-exporter have
// the prefix AVAX_ too.
func isServiceLink(name, value string) bool {
	return serviceLink.MatchString(name) || strings.HasSuffix(name, "_PORT") && strings.Contains(value, "://")
}

var serviceLink = regexp.MustCompile(`_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?$`)
