package workspace

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

func TestImpostor(t *testing.T) {
	// A shell redirects the input of background commands from /dev/null, and cat would end at once.
	sh := exec.Command("sh", "-c", "exec 3<&0; cat <&3 & echo $!; wait")
	in, err := sh.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := sh.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name        string
		peer, first int
		want        bool
	}{
		{"the first process itself", child, child, false},
		{"its child", child, sh.Process.Pid, false},
		{"a grandchild", child, os.Getpid(), true},
		{"one of elsewhere", sh.Process.Pid, child, false},
		{"one that cannot be seen", 0, child, false},
		{"a first one that is not known", child, 0, false},
	} {
		if got := isImpostor(tt.peer, tt.first); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	_ = in.Close()
	_ = sh.Wait()
	if !isImpostor(child, os.Getpid()) {
		t.Error("one that has listened and ended")
	}
	if isImpostor(os.Getpid(), child) {
		t.Error("of a container that has ended")
	}
}
