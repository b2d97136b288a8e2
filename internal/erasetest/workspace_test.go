package erasetest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
)

// What an agent in a container said and did is erased like everything else. Only the file that
// it made for the user stays until the workspace is removed.
func TestErasedInWorkspace(t *testing.T) {
	host := os.Getenv("HOLDFAST_TEST_DOCKER")
	if host == "" {
		testneed.Root(t, "starting a container engine")
		testneed.Need(t, `no container engine: eval "$(scripts/services start docker)" makes this run`)
	}
	h := newHome(t, "")
	h.env = append(h.env, "DOCKER_HOST="+host)
	h.write("play.json", `{"name":"play","steps":[
		{"tool_uses":[{"tool":"Write","input":{"file_path":"/work/made.txt","content":"made of `+word+`"}}]},
		{"tool_uses":[{"tool":"Read","input":{"file_path":"/work/made.txt"}}]},
		{"tool_uses":[{"tool":"TaskCreate","input":{"subject":"`+word+`","description":"water the `+word+`"}}]},
		{"text":"all about `+word+`"}]}`)
	program, image := testprogram.Linux(t), "holdfast-test/erased:latest"
	h.run("workspace", "image", "build", "--binary", program, "--tag", image)
	h.run("workspace", "create", "garden", "--image", image)
	gone := false
	t.Cleanup(func() {
		if !gone {
			h.run("workspace", "delete", "--yes", "garden")
		}
	})
	h.run("run", "-q", "-m", "scripted/"+h.dir+"/play.json", "--workspace", "garden", "--permission-mode", "bypassPermissions", "--session-id", "third", "tell of "+word)
	h.run("sessions", "search", "--all", word)
	if found := hits(t, h.home); len(found) < 3 {
		t.Errorf("the word was only planted in %v", found)
	}
	known(t, h.home, "")
	if out := h.run("sessions", "redact", "--match", word, "--yes", "third"); strings.Contains(out, "stays") {
		t.Errorf("something stays:\n%s", out)
	}
	if found := hits(t, h.home); !slices.Equal(found, []string{"/workspaces/garden/project/made.txt"}) {
		t.Errorf("the word is in %v", found)
	}
	h.run("workspace", "delete", "--yes", "garden")
	gone = true
	h.nowhere()
}
