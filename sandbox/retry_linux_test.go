package sandbox

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
)

// Protected paths may disappear at any time, if git outside removes a worktree: commands start nevertheless,
// and can read everything else.
func TestProtectedPathAppears(t *testing.T) {
	root := plant(t, "ws/.git/hooks/", "ws/.git/config", "ws/.git/worktrees/", "home/")
	s := opened(t, root)
	over := make(chan struct{})
	var git sync.WaitGroup
	git.Go(func() {
		for {
			for _, name := range []string{"x", "y", "z"} {
				dir := root + "/ws/.git/worktrees/" + name
				_ = os.Mkdir(dir, 0o755)
				_ = os.WriteFile(dir+"/commondir", []byte("../..\n"), 0o644)
				_ = os.RemoveAll(dir) // not complete if a placeholder is created meanwhile
			}
			select {
			case <-over:
				return
			default:
			}
		}
	})
	defer git.Wait()
	defer close(over)
	failed := 0
	for range 100 {
		c := s.Command(t.Context(), "/bin/cat")
		c.Stdin = strings.NewReader("all of it")
		var out bytes.Buffer
		c.Stdout = &out
		if err := c.Run(); err != nil || out.String() != "all of it" {
			failed++
			t.Logf("%v %q %s", err, out.String(), c.Report().Text())
		}
	}
	if failed > 0 {
		t.Errorf("%d of 100 failed", failed)
	}
}
