package packages

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const (
	root    = "../.."
	service = "avax-exporter.service"
	socket  = "avax-exporter.socket"
	units   = "usr/lib/systemd/system"
	tarball = "*_linux_*.tar.gz"
)

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(temporary)
	os.Exit(code)
}

var (
	built = sync.OnceValues(func() (string, error) {
		var err error
		if temporary, err = os.MkdirTemp("", "dist"); err != nil {
			return "", err
		}
		dir := filepath.Join(temporary, "dist")
		if out, err := dist(context.Background(), dir).CombinedOutput(); err != nil {
			return "", fmt.Errorf("dist: %w\n%s", err, out)
		}
		return dir, nil
	})
	temporary string
)

// handedOut returns the directory of the release files, which the first call builds.
func handedOut(t *testing.T) string {
	t.Helper()
	testworld.Needs(t, "dpkg-deb", "rpm", "systemd-analyze")
	return must.Get(built())(t)
}

// dist builds the release files for this machine's architecture.
func dist(ctx context.Context, dir string) *exec.Cmd {
	command := exec.CommandContext(ctx, root+"/internal/tools/dist", dir)
	command.Env = append(os.Environ(), "SYSTEMS=linux/"+runtime.GOARCH)
	return command
}

func TestReleaseFilesAreComplete(t *testing.T) {
	testworld.Full(t)
	dir := handedOut(t)
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = dir
	checked := run(t, check)
	for _, pattern := range []string{tarball, "*_grafana.com.tar.gz", "*.tgz", "*.cdx.json", "*.deb", "*.rpm"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		if !strings.Contains(checked, filepath.Base(files[0])+": OK") {
			t.Errorf("%s: no checksum", files[0])
		}
	}

	// The tarball contains a binary that runs, and the files that it needs.
	unpacked := t.TempDir()
	files := untar(t, one(t, dir, tarball), unpacked)
	for _, name := range []string{"avax-exporter", "LICENSE", service, socket, "environment", "rules.yml", "dashboards/grafana.json"} {
		if !slices.ContainsFunc(files, func(file string) bool { return strings.HasSuffix(file, "/"+name) }) {
			t.Errorf("no %s in the tarball: %v", name, files)
		}
	}
	run(t, exec.CommandContext(t.Context(), filepath.Join(unpacked, filepath.Dir(files[1]), "avax-exporter"), "version"))

	// The modules in the binary equal those in its bill of materials.
	var bill struct {
		Components []struct{ Name, Version string }
	}
	text := must.Get(os.ReadFile(one(t, dir, "*.cdx.json")))(t)
	must.Do(t, json.Unmarshal(text, &bill))
	listed := map[string]bool{}
	for _, c := range bill.Components {
		listed[c.Name+" "+c.Version] = true
	}
	binary := filepath.Join(unpacked, filepath.Dir(files[1]), "avax-exporter")
	modules := regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`).FindAllStringSubmatch(run(t, exec.CommandContext(t.Context(), "go", "version", "-m", binary)), -1)
	for _, module := range modules {
		if !listed[module[1]+" "+module[2]] {
			t.Errorf("%s %s not in the bill of materials", module[1], module[2])
		}
	}
	if len(modules) < 10 {
		t.Errorf("%d modules in the binary", len(modules))
	}
}

func TestPackagesAreReproducible(t *testing.T) {
	testworld.Full(t)
	again := filepath.Join(t.TempDir(), "dist")
	run(t, dist(t.Context(), again))
	var sums [2]string
	for i, dir := range []string{handedOut(t), again} {
		text := must.Get(os.ReadFile(filepath.Join(dir, "SHA256SUMS")))(t)
		sums[i] = string(text)
	}
	if sums[0] != sums[1] {
		t.Errorf("first build:\n%ssecond build:\n%s", sums[0], sums[1])
	}
}

func TestDebAndRPMHaveTheSameFiles(t *testing.T) {
	testworld.Full(t)
	dir := handedOut(t)
	files := strings.Fields(run(t, exec.CommandContext(t.Context(), "rpm", "-qpl", one(t, dir, "*.rpm"))))
	extracted := t.TempDir()
	run(t, exec.CommandContext(t.Context(), "dpkg-deb", "-x", one(t, dir, "*.deb"), extracted))
	for _, file := range files {
		if _, err := os.Stat(filepath.Join(extracted, file)); err != nil {
			t.Errorf("only in the rpm: %v", err)
		}
	}
	if !slices.Contains(files, "/usr/bin/avax-exporter") || !slices.Contains(files, "/usr/share/avax-exporter/rules.yml") {
		t.Errorf("files of the rpm: %v", files)
	}
	if kept := run(t, exec.CommandContext(t.Context(), "rpm", "-qpc", one(t, dir, "*.rpm"))); strings.TrimSpace(kept) != "/etc/avax-exporter/environment" {
		t.Errorf("configuration files of the rpm: %q", kept)
	}
	conffiles := run(t, exec.CommandContext(t.Context(), "dpkg-deb", "--info", one(t, dir, "*.deb"), "conffiles"))
	if strings.TrimSpace(conffiles) != "/etc/avax-exporter/environment" {
		t.Errorf("configuration files of the deb: %q", conffiles)
	}
}

// systemd-analyze on a machine with the package: as installed, and with every commented example enabled.
func TestSystemdUnitsAreValidAndHardened(t *testing.T) {
	testworld.Full(t)
	machine := t.TempDir()
	run(t, exec.CommandContext(t.Context(), "dpkg-deb", "-x", one(t, handedOut(t), "*.deb"), machine))
	theirs, err := filepath.Glob("/" + units + "/*.*")
	if err != nil || len(theirs) == 0 {
		t.Fatalf("systemd's own units: %v, %v", theirs, err)
	}
	for _, file := range theirs {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || err != nil && strings.Contains(err.Error(), "is a directory") {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(machine, units, filepath.Base(file)), string(text))
	}

	installed := filepath.Join(machine, units, service)
	text := must.Get(os.ReadFile(installed))(t)
	switchedOn := strings.NewReplacer("\n#Load", "\nLoad", "\n#Environment", "\nEnvironment").Replace(string(text))
	if strings.Count(switchedOn, "\nLoadCredential=") < 2 {
		t.Errorf("no example of LoadCredential:\n%s", text)
	}
	for name, unit := range map[string]string{"as installed": string(text), "with the examples": switchedOn} {
		write(t, installed, unit)
		if out := verify(t, machine); out != "" { // it exits with 0 for an unknown key
			t.Errorf("%s, verify: %s", name, out)
		}
		score := run(t, exec.CommandContext(t.Context(), "systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=15", "--root="+machine, service))
		t.Log(name, regexp.MustCompile(`Overall exposure level.*: [0-9.]+`).FindString(score))
	}

	write(t, installed, strings.Replace(string(text), "UMask=", "Umask=", 1))
	if out := verify(t, machine); !strings.Contains(out, "Umask") {
		t.Errorf("misspelled key not found: %q", out)
	}
}

// The unit sets everything that systemd knows to confine a service, but for what the exporter needs, and what is no use without it. systemd-analyze does
// not judge the limits.
func TestUnitConfinesTheExporter(t *testing.T) {
	testworld.Needs(t, "systemd-analyze")
	open := []string{
		"RestrictAddressFamilies_AF_INET_INET6", "PrivateNetwork", "IPAddressDeny", // it calls nodes, wherever they are
		"RootDirectoryOrRootImage", "PrivateMounts", "ProcSubset", "DeviceAllow", // it reads files of /etc and /proc; no device is allowed
	}
	unit := root + "/deploy/systemd/" + service
	// It exits with 1 if the exposure is above a threshold.
	out, _ := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--no-pager", "--offline=true", "--json=short", unit).Output()
	var checks []struct {
		Name string `json:"json_field"`
		Set  any    `json:"set"`
	}
	must.Do(t, json.Unmarshal(out, &checks))
	if len(checks) < 50 {
		t.Errorf("%d checks", len(checks))
	}
	for _, c := range checks {
		if c.Set != true && !slices.Contains(open, c.Name) {
			t.Errorf("the unit does not set %s", c.Name)
		}
	}
	text := string(must.Get(os.ReadFile(unit))(t))
	for _, line := range []string{"LimitCORE=0", "MemoryMax=1G", "MemoryDenyWriteExecute=yes", "StateDirectoryMode=0700"} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the unit does not set %s", line)
		}
	}
}

func verify(t *testing.T, machine string) string {
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "--root="+machine, service, socket).CombinedOutput()
	if err != nil && len(out) == 0 {
		return err.Error()
	}
	return string(out)
}

func one(t *testing.T, dir, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %v, %v", pattern, files, err)
	}
	return files[0]
}

// untar unpacks regular files and returns all names in order.
func untar(t *testing.T, archive, into string) (names []string) {
	t.Helper()
	file := must.Get(os.Open(archive))(t)
	defer file.Close()
	unzipped := must.Get(gzip.NewReader(file))(t)
	for entries := tar.NewReader(unzipped); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, entry.Name)
		if entry.Uid != 0 || entry.FileInfo().Mode().Perm()&0o022 != 0 {
			t.Errorf("%s: owner %d, mode %v", entry.Name, entry.Uid, entry.FileInfo().Mode())
		}
		if entry.Typeflag != tar.TypeReg {
			continue
		}
		text := must.Get(io.ReadAll(entries))(t)
		target := filepath.Join(into, filepath.Clean("/"+entry.Name))
		must.Do(t, os.MkdirAll(filepath.Dir(target), 0o700))
		must.Do(t, os.WriteFile(target, text, entry.FileInfo().Mode().Perm()))
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(file, []byte(text), 0o644))
}

func run(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command.Args, " "), err, out)
	}
	return string(out)
}
