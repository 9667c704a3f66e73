// Package deploy_test builds the image and runs it like a cluster with strict rules.
package deploy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// maxMemory is the memory limit of the container: the kernel kills it above.
const maxMemory = 64 << 20

// TestImageServesTheDemo builds every line of the Dockerfile. The compiler image is made from this machine's Go, so no registry is
// used.
func TestImageServesTheDemo(t *testing.T) {
	testworld.Full(t)
	testworld.Needs(t, "root", "buildah", "podman", "runc", "busybox")
	c := newContainers(t)
	c.compiler(t)
	c.run(t, "buildah", "build", "--format=docker", "--quiet",
		"--file=Dockerfile", "--ignorefile=Dockerfile.dockerignore", "--build-arg=GO=localhost/go", "--platform=linux/"+runtime.GOARCH,
		"--volume="+goEnv(t, "GOROOT")+":/usr/local/go:ro", "--volume="+goEnv(t, "GOCACHE")+":/cache", "--volume="+goEnv(t, "GOMODCACHE")+":/mod",
		"--tag=localhost/avax-exporter", "..")

	var images []struct {
		Size   int64
		Config struct {
			User   string
			Labels map[string]string
		}
		Healthcheck struct{ Test []string } // as podman prints it
	}
	parse(t, c.run(t, "podman", "image", "inspect", "localhost/avax-exporter"), &images)
	image := images[0]
	if image.Config.User != "65532:65532" {
		t.Errorf("user %q", image.Config.User)
	}
	if want := []string{"CMD", "/avax-exporter", "healthcheck"}; !slices.Equal(image.Healthcheck.Test, want) {
		t.Errorf("health check %q", image.Healthcheck.Test)
	}
	if image.Config.Labels["org.opencontainers.image.licenses"] != "Apache-2.0" {
		t.Errorf("labels %v", image.Config.Labels)
	}
	if t.Logf("image of %.1f MB", float64(image.Size)/1e6); image.Size >= 60e6 {
		t.Error("want less than 60 MB")
	}

	for user, uid := range map[string]string{image.Config.User: "65532", "1000680000:0": "1000680000"} { // OpenShift chooses a user at random
		t.Run(user, func(t *testing.T) { c.serves(t, user, uid) })
	}
}

// serves runs the demo in a container as a user, with a read-only root and no capabilities.
func (c *containers) serves(t *testing.T, user, uid string) {
	t.Helper()
	address := freeAddress(t)
	name := fmt.Sprintf("avax-exporter-%d-%s", os.Getpid(), uid)
	container := c.command(context.Background(), "podman", "run", "--name="+name, "--network=host", "--no-healthcheck", "--read-only", "--read-only-tmpfs=false",
		"--cap-drop=all", "--user="+user,
		"--security-opt=no-new-privileges", fmt.Sprintf("--memory=%d", maxMemory), "--env=AVAX_LISTEN="+address, "localhost/avax-exporter", "demo")
	container.Stdout, container.Stderr = t.Output(), t.Output()
	must.Do(t, container.Start())
	t.Cleanup(func() {
		c.run(t, "podman", "kill", "--signal=TERM", name)
		if err := container.Wait(); err != nil {
			t.Errorf("container exited: %v", err)
		}
	})
	until(t, "http://"+address+"/-/ready")
	// Scrapes without pauses.
	for range 20 {
		if page := until(t, "http://"+address+"/metrics"); !strings.Contains(page, `avax_node_up{node="alpha"} 1`) {
			t.Fatalf("page without nodes:\n%.2000s", page)
		}
	}
	c.run(t, "podman", "exec", name, "/avax-exporter", "healthcheck")
	if out, err := c.command(t.Context(), "podman", "exec", name, "/bin/sh", "-c", "true").CombinedOutput(); err == nil {
		t.Errorf("shell in the image: %s", out)
	}

	var running []struct {
		State         struct{ Pid int }
		EffectiveCaps []string
		HostConfig    struct {
			ReadonlyRootfs bool
			Memory         int64
		}
	}
	parse(t, c.run(t, "podman", "inspect", name), &running)
	if r := running[0]; !r.HostConfig.ReadonlyRootfs || r.HostConfig.Memory != maxMemory || len(r.EffectiveCaps) > 0 {
		t.Errorf("container state %+v", r)
	}
	status := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", running[0].State.Pid)))(t)
	for line := range strings.Lines(string(status)) {
		for _, fact := range []struct{ name, want string }{
			{"Uid:", strings.Join([]string{uid, uid, uid, uid}, "\t")}, {"CapEff:", "0000000000000000"}, {"CapBnd:", "0000000000000000"}, {"NoNewPrivs:", "1"},
		} {
			if value, ok := strings.CutPrefix(line, fact.name); ok && strings.TrimSpace(value) != fact.want {
				t.Errorf("%s: %s, want %s", fact.name, strings.TrimSpace(value), fact.want)
			}
		}
		if strings.HasPrefix(line, "VmHWM:") {
			t.Logf("most memory: %s", strings.TrimSpace(strings.TrimPrefix(line, "VmHWM:")))
		}
	}
}

// containers keeps images and containers in a directory of the test.
type containers struct{ dir string }

func newContainers(t *testing.T) *containers {
	dir := t.TempDir()
	c := &containers{dir}
	t.Cleanup(func() {
		if out, err := c.command(context.Background(), "podman", "system", "reset", "--force").CombinedOutput(); err != nil {
			t.Logf("podman system reset: %v\n%s", err, out)
		}
	})
	// vfs works in any directory. The limits are below those of a shell that may not raise its own.
	write(t, filepath.Join(dir, "storage.conf"), fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n", dir+"/graph", dir+"/run"))
	write(t, filepath.Join(dir, "containers.conf"), `[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
`)
	return c
}

func (c *containers) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), "BUILDAH_ISOLATION=chroot", "TMPDIR="+c.dir, "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin",
		"CONTAINERS_STORAGE_CONF="+filepath.Join(c.dir, "storage.conf"), "CONTAINERS_CONF="+filepath.Join(c.dir, "containers.conf"))
	return command
}

func (c *containers) run(t *testing.T, program string, args ...string) string {
	t.Helper()
	var log strings.Builder
	command := c.command(context.WithoutCancel(t.Context()), program, args...)
	command.Stderr = &log
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, &log)
	}
	return strings.TrimSpace(string(out))
}

// compiler creates localhost/go: a shell, certificates and time zones. Go itself and its caches are mounted during builds.
func (c *containers) compiler(t *testing.T) {
	t.Helper()
	busybox := must.Get(exec.LookPath("busybox"))(t)
	empty := filepath.Join(c.dir, "empty")
	must.Do(t, os.Mkdir(empty, 0o700))
	id := c.run(t, "buildah", "from", "scratch")
	for from, to := range map[string]string{
		busybox: "/bin/sh",
		empty:   "/tmp",
		filepath.Join(goEnv(t, "GOROOT"), "lib/time/zoneinfo.zip"): "/usr/local/go/lib/time/",
		"/etc/ssl/certs/ca-certificates.crt":                       "/etc/ssl/certs/",
	} {
		c.run(t, "buildah", "copy", "--quiet", id, from, to)
	}
	c.run(t, "buildah", "config", "--env=PATH=/usr/local/go/bin:/bin", "--env=GOPROXY="+goEnv(t, "GOPROXY"), "--env=GOFLAGS=-buildvcs=false",
		"--env=GOCACHE=/cache", "--env=GOMODCACHE=/mod", id)
	c.run(t, "buildah", "commit", "--quiet", "--rm", id, "localhost/go")
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out := must.Get(exec.CommandContext(t.Context(), "go", "env", name).Output())(t)
	return strings.TrimSpace(string(out))
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	return listener.Addr().String()
}

// until requests a page until the status is 200.
func until(t *testing.T, url string) (page string) {
	t.Helper()
	testworld.Await(t, url, func() error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if page = string(body); err == nil && resp.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", resp.Status, page)
		}
		return err
	})
	return page
}

func parse(t *testing.T, text string, into any) {
	t.Helper()
	must.Do(t, json.Unmarshal([]byte(text), into))
}

func write(t *testing.T, file, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
}
