package image_test

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
	"github.com/holdfast-dev/holdfast/internal/workspace/image"
	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
)

// TestAgents runs the real agents, from npm, in a real Debian: both start as in a workspace, as its user, with
// only the home writable, without a network and without Node.
func TestAgents(t *testing.T) {
	e, id := testimage.Engine(t), testimage.Debian(t, "claude", "codex")
	out := image.Start(t, e, engine.Spec{
		Image: id, User: "4711:4711", Dir: image.Work, PIDs: 512, Memory: 2 << 30,
		Command: []string{"/bin/bash", "-c", `claude --version; codex --version; readlink /usr/local/bin/codex; type node; find /opt /usr/local -perm /6000`},
		Tmpfs: []engine.Tmpfs{
			{Target: "/tmp", Size: 64 << 20, Mode: 0o777 | os.ModeSticky, UID: 4711, GID: 4711},
			{Target: image.Home, Size: 64 << 20, Mode: 0o700, UID: 4711, GID: 4711},
		},
	})
	for _, want := range []string{"2.1.197 (Claude Code)\n", "codex-cli 0.169.0\n", "/opt/codex/bin/codex", "type: node: not found"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing: %s", want, out)
		}
	}
	if img, err := image.Find(t.Context(), e, id); err != nil || strings.Join(img.Agents, " ") != "claude@2.1.197 codex@0.169.0" {
		t.Errorf("%+v, %v", img, err)
	}
}
