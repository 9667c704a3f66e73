package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// A release builds with the compiler's image by its digest, and not by the tag, which may be moved. Without a digest it builds nothing.
func TestReleasePinsTheCompilersImage(t *testing.T) {
	testworld.Needs(t, "git")
	if err := os.MkdirAll("../.tools", 0o755); err != nil { //nolint:gosec // as make creates it
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove("../.tools/image.digest") })
	for digest, pinned := range map[string]bool{"sha256:" + strings.Repeat("a", 64): true, "": false} {
		bin := t.TempDir()
		calls := filepath.Join(bin, "calls")
		for name, script := range map[string]string{
			"skopeo":  `echo "` + digest + `"`,
			"buildah": `echo "$@" >>` + calls + `; for a; do case $a in --digestfile=*) echo sha256:b >"${a#*=}" ;; esac; done`,
		} {
			if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
		}
		release := exec.Command("../internal/tools/release", "image")
		release.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "COMPILER=")
		out, err := release.CombinedOutput()
		called, _ := os.ReadFile(calls)
		image := "docker.io/library/golang@" + digest
		built := strings.Contains(string(called), "--build-arg=GO="+image+" --label=avax-exporter.compiler="+image)
		if (err == nil) != pinned || built != pinned {
			t.Errorf("digest %q: %v %s, buildah %s", digest, err, out, called)
		}
	}
}
