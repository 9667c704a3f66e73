package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"golang.org/x/term"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

const initArgs = "[--yes] [--node URL] [--name NAME] [--notify KIND] [--set SETTING=VALUE]... [--url URL] [--dir DIR]"

func initHelp() string {
	kinds := notify.Kinds()
	return `
Asks for the URL of your node and for a way to notify you. Calls the node, sends
a test notification, and writes avax-exporter.env and notify.yml. Asks before it
replaces a file. Answers may also come from a file or a pipe, one per line.

Options:
  --node URL     URL of the node (default: http://127.0.0.1:9650)
  --name NAME    name of the node in alerts (default: mine)
  --notify KIND  ` + strings.Join(kinds[:5], ", ") + `,
                 ` + strings.Join(kinds[5:], ", ") + `, or none (default: none)
  --set SETTING=VALUE
                 a setting of the receiver, such as chat_id=123456789. A secret
                 may stay in its file: bot_token_file=/etc/telegram.token
  --url URL      URL of the exporter's pages, for the links in notifications, as
                 your phone reaches it (default: the address of this machine and
                 port 9865)
  --dir DIR      directory of both files (default: the current directory)
  --yes          ask nothing: use the options and the defaults, and fail if a
                 file exists

Examples:
  avax-exporter init
  avax-exporter init --yes --node http://127.0.0.1:9650 --notify telegram \
    --set bot_token_file=/etc/telegram.token --set chat_id=123456789
`
}

// setup is the state of one run of init.
type setup struct {
	node, name, kind, dir string
	url                   string // of the exporter's pages
	yes                   bool
	settings              map[string]string
	in                    *bufio.Reader
	out                   io.Writer
}

// Files that init writes.
const (
	envFile    = "avax-exporter.env"
	notifyFile = "notify.yml"
)

// runInit asks for a node and a receiver, tries both, and writes the configuration.
func runInit(ctx context.Context, args []string, stdout, _ io.Writer) error {
	s := &setup{settings: map[string]string{}, in: bufio.NewReader(os.Stdin), out: stdout}
	err := parseFlags(args, func(f *flag.FlagSet) {
		f.BoolVar(&s.yes, "yes", false, "")
		f.StringVar(&s.node, "node", "", "")
		f.StringVar(&s.name, "name", "", "")
		f.StringVar(&s.kind, "notify", "", "")
		f.StringVar(&s.url, "url", "", "")
		f.StringVar(&s.dir, "dir", ".", "")
		f.Func("set", "", func(pair string) error {
			name, value, ok := strings.Cut(pair, "=")
			if !ok {
				return errors.New("write SETTING=VALUE") // without the pair, which may be a secret
			}
			s.settings[name] = value
			return nil
		})
	})
	if err != nil {
		return usageError{hidePair(err)}
	}
	if s.kind == "" && len(s.settings) > 0 {
		return usageError{errors.New("--set needs --notify KIND")}
	}
	if s.dir, err = filepath.Abs(s.dir); err != nil {
		return err
	}
	if quoted(s.dir) != s.dir {
		return usageError{errors.New("--dir: the path contains a space or another special character: choose a directory without it")}
	}
	if err := s.mayReplace(envFile); err != nil {
		return err
	}
	cfg, err := s.findNode(ctx)
	if err != nil {
		return err
	}
	receivers, err := s.findReceiver(ctx, cfg)
	if err != nil {
		return err
	}
	if receivers != nil {
		if err := s.findURL(ctx); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if receivers != nil {
		if err := s.write(notifyFile, receivers); err != nil {
			return err
		}
	}
	if err := s.write(envFile, s.environment(receivers != nil)); err != nil {
		return err
	}
	s.printNext(receivers != nil)
	return nil
}

// hidePair removes the value of --set from an error of the flag package.
func hidePair(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return errors.New(regexp.MustCompile(`invalid value ".*" for`).ReplaceAllString(err.Error(), "invalid value for"))
}

// ask returns the answer to a question, or the default. With --yes there is no question.
func (s *setup) ask(question, def string) (string, error) {
	if s.yes {
		return def, nil
	}
	fmt.Fprint(s.out, question)
	if def != "" {
		fmt.Fprintf(s.out, " [%s]", def)
	}
	fmt.Fprint(s.out, ": ")
	line, err := s.in.ReadString('\n')
	if line = strings.TrimSpace(line); errors.Is(err, io.EOF) && line == "" {
		fmt.Fprintln(s.out)
		return "", inputError("init: no answer on standard input: use --yes and options, see avax-exporter help init")
	}
	return cmp.Or(line, def), nil
}

// askSecret is ask without a default. A terminal does not show the answer.
func (s *setup) askSecret(question string) (string, error) {
	if s.yes || !term.IsTerminal(int(os.Stdin.Fd())) {
		return s.ask(question, "")
	}
	fmt.Fprint(s.out, question+": ")
	secret, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(s.out)
	return strings.TrimSpace(string(secret)), err
}

// mayReplace asks whether to replace a file that exists.
func (s *setup) mayReplace(name string) error {
	path := filepath.Join(s.dir, name)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	answer, err := s.ask(path+" exists. Replace it?", "no")
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(answer)) {
		return inputError("init: %s exists: move it, or choose another directory with --dir", path)
	}
	return nil
}

// findNode asks for a node until one answers, and prints what it is.
func (s *setup) findNode(ctx context.Context) (cfg *config.Config, err error) {
	for {
		url := s.node
		if s.node = ""; url == "" {
			if url, err = s.ask("URL of your node", "http://127.0.0.1:9650"); err != nil {
				return nil, err
			}
		}
		name := s.name
		if name == "" {
			if name, err = s.ask("Name of the node in alerts", "mine"); err != nil {
				return nil, err
			}
		}
		cfg, err = configured(config.Environment{"NODES": name + "=" + url, "CHAINS": "C,auto"}.Parse())
		if err == nil {
			s.node, s.name = url, name
			if err = s.tryNode(ctx, cfg); err == nil {
				return cfg, nil
			}
			s.node, s.name = "", ""
		}
		if s.yes || ctx.Err() != nil {
			return nil, err
		}
		fmt.Fprintln(s.out, err)
	}
}

// tryNode calls every method of the node that the exporter needs, and prints what the node is and what fails. It returns an error if the
// node does not answer.
func (s *setup) tryNode(ctx context.Context, cfg *config.Config) error {
	var checks bytes.Buffer
	err := app.Check(ctx, cfg, &checks, false)
	for line := range strings.Lines(checks.String()) {
		if !strings.HasPrefix(line, "ok ") && !strings.HasPrefix(line, app.NobodyNotified) { // init asks for the receiver next
			fmt.Fprint(s.out, line)
		}
	}
	if err != nil && strings.Contains("\n"+checks.String(), "\n"+s.name+": no answer\n") {
		return fmt.Errorf("init: %s does not answer: correct the URL, or start the node", s.name)
	}
	return nil // what else fails may end by itself, such as a bootstrap
}

// findReceiver asks for a receiver until one accepts a test, and returns its configuration; nil if there is to be none.
func (s *setup) findReceiver(ctx context.Context, cfg *config.Config) ([]byte, error) {
	for {
		text, err := s.receiver()
		if text == nil && err == nil {
			return nil, nil
		}
		if err == nil {
			if err = s.mayReplace(notifyFile); err != nil {
				return nil, err
			}
			cfg.Notify.Text = text
			if err = printTrials(ctx, cfg.Notify, s.out); err == nil {
				return text, nil
			}
		}
		if s.yes || ctx.Err() != nil || errors.As(err, &config.InputError{}) {
			return nil, err
		}
		fmt.Fprintln(s.out, err)
		s.kind, s.settings = "", map[string]string{}
	}
}

// receiver asks for the kind of receiver and its settings.
func (s *setup) receiver() (text []byte, err error) {
	if s.kind == "" {
		if s.kind, err = s.ask("Notify you by "+strings.Join(notify.Kinds(), ", ")+" or none", "none"); err != nil {
			return nil, err
		}
	}
	if s.kind == "none" {
		return nil, nil
	}
	blanks, err := notify.Blanks(s.kind)
	if err != nil {
		return nil, inputError("init: %w", err)
	}
	for _, b := range blanks {
		if _, inFile := s.settings[b.Name+"_file"]; inFile || s.yes {
			continue
		}
		for s.settings[b.Name] == "" {
			question := b.Name
			if b.Hint != "" {
				question = b.Hint + "\n" + b.Name
			}
			if b.Secret {
				s.settings[b.Name], err = s.askSecret(question)
			} else {
				s.settings[b.Name], err = s.ask(question+" (such as "+b.Example+")", "")
			}
			if err != nil {
				return nil, err
			}
		}
	}
	for name, value := range s.settings {
		if strings.HasSuffix(name, "_file") {
			if s.settings[name], err = filepath.Abs(value); err != nil {
				return nil, err
			}
		}
	}
	if text, err = notify.Filled(s.kind, s.settings); err != nil {
		return nil, inputError("init: --set: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return text, nil
}

// findURL asks for the URL of the exporter's pages until it is one. The default is derived: the name of this machine would mean nothing to a phone.
func (s *setup) findURL(ctx context.Context) (err error) {
	derived := "http://" + net.JoinHostPort(ownAddress(ctx), "9865")
	for {
		if s.url == "" {
			if s.url, err = s.ask("URL of the exporter's pages, for the links in notifications", derived); err != nil {
				return err
			}
		}
		if _, err = configured(config.Environment{"EXTERNAL_URL": s.url}.Parse()); err == nil || s.yes {
			return err
		}
		fmt.Fprintln(s.out, err)
		s.url = ""
	}
}

// ownAddress returns the address of this machine in its network, or its name. It sends nothing.
func ownAddress(ctx context.Context) string {
	connection, err := (&net.Dialer{}).DialContext(ctx, "udp", "192.0.2.1:9") // of no network: only the route to it is looked up
	if err == nil {
		defer connection.Close()
		if at, ok := connection.LocalAddr().(*net.UDPAddr); ok {
			return at.IP.String()
		}
	}
	name, err := os.Hostname()
	if err != nil {
		return "127.0.0.1"
	}
	return name
}

// environment returns the environment file. systemd, Docker and a shell read it, so no value needs quotation marks.
func (s *setup) environment(notifies bool) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `# avax-exporter: environment variables, for systemd, Docker and a shell.
# All variables: avax-exporter help all

# Your node, as name=url. Separate more nodes with commas.
AVAX_NODES=%s=%s
# The C-Chain, and all chains that the node tracks.
AVAX_CHAINS=C,auto
`, s.name, escaped(s.node))
	if notifies {
		fmt.Fprintf(&b, "# Who is notified. Changes of the file take effect within ten seconds.\nAVAX_NOTIFY_FILE=%s\n", filepath.Join(s.dir, notifyFile))
		fmt.Fprintf(&b, "# Links in notifications lead to this URL.\nAVAX_EXTERNAL_URL=%s\n", escaped(s.url))
	}
	b.WriteString(`
# A directory that exists: with it, a restart loses no alert state.
#AVAX_STATE_DIR=/var/lib/avax-exporter
# URL of a dead man's switch, such as a check at healthchecks.io: it alerts you if the exporter stops.
#AVAX_HEARTBEAT_URL=https://hc-ping.com/…
`)
	return []byte(b.String())
}

// escaped percent-encodes what a shell or Docker would change in a URL.
func escaped(url string) string {
	return regexp.MustCompile(`[^A-Za-z0-9._~:/?@%=+\[\]-]`).ReplaceAllStringFunc(url, func(s string) string {
		return "%" + strings.ToUpper(fmt.Sprintf("%x", s))
	})
}

// write writes a file that only this user may read. It replaces an existing file, for which mayReplace has asked.
func (s *setup) write(name string, text []byte) error {
	path := filepath.Join(s.dir, name)
	if err := renameio.WriteFile(path, text, 0o600, renameio.IgnoreUmask()); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "wrote", path)
	return nil
}

// printNext prints how to start the exporter.
func (s *setup) printNext(notifies bool) {
	env, receivers := filepath.Join(s.dir, envFile), filepath.Join(s.dir, notifyFile)
	program := "avax-exporter"
	if path, err := os.Executable(); err == nil {
		program = path
	}
	volume, credential := "", ""
	install := "sudo install -D -m 600 " + quoted(env) + " /etc/avax-exporter/environment"
	if notifies {
		volume = " -v " + quoted(receivers+":"+receivers+":ro")
		install = "sed 's|^AVAX_NOTIFY_FILE=.*|AVAX_NOTIFY_FILE=/run/credentials/avax-exporter.service/notify.yml|' " + quoted(env) +
			" |\n    sudo install -D -m 600 /dev/stdin /etc/avax-exporter/environment"
		credential = "  printf '[Service]\\nLoadCredential=notify.yml:%s\\n' " + quoted(receivers) + " |\n" +
			"    sudo install -D -m 644 /dev/stdin /etc/systemd/system/avax-exporter.service.d/notify.conf\n  sudo systemctl daemon-reload\n"
	}
	for _, name := range slices.Sorted(maps.Keys(s.settings)) {
		if strings.HasSuffix(name, "_file") {
			volume += " -v " + quoted(s.settings[name]+":"+s.settings[name]+":ro")
		}
	}
	fmt.Fprintf(s.out, `
Start it in this shell:
  set -a; . %s; set +a; %s
With Docker (host network: the node listens on this machine):
  docker run -d --name avax-exporter --restart unless-stopped --network host --user "$(id -u):$(id -g)" \
    --env-file %[1]s%[3]s %[4]s
With systemd, after you have installed the package:
  %[5]s
%[6]s  sudo systemctl enable --now avax-exporter
Then open http://127.0.0.1:9865/
`, quoted(env), quoted(program), volume, image(), install, credential)
}

// image returns the container image of this version.
func image() string {
	version, released := strings.CutPrefix(app.Version(), "v")
	if !released || strings.ContainsAny(version, "-+") {
		version = "VERSION"
	}
	return "ghcr.io/avax-exporter/avax-exporter:" + version
}

// quoted quotes a path for a shell, if it needs quotes.
func quoted(path string) string {
	if regexp.MustCompile(`^[A-Za-z0-9._/:+-]+$`).MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
