package listen

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An orphan of a command becomes our child; its end is seen, and that of a command
// which somebody here waits for is left to him.
func TestAdopt(t *testing.T) {
	a, err := Adopt()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		a.Close()
		a.Close()
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); err != nil {
			t.Error(err)
		}
	}()
	sh := exec.Command("sh", "-c", `(setsid cat <&3 >/dev/null 2>&1 & echo $!)`)
	r, w, err := osPipe(t, sh)
	if err != nil {
		t.Fatal(err)
	}
	out, err := sh.Output()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	orphan, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	if !contains(Children(os.Getpid()), orphan) {
		t.Fatalf("%d is not ours: %v", orphan, Children(os.Getpid()))
	}
	a.reap()
	a.reap()
	if !contains(Children(os.Getpid()), orphan) {
		t.Fatal("one that lives was waited for")
	}
	w.Close()
	ended(t, orphan)

	own := exec.Command("sh", "-c", "echo x; exit 7")
	pipe, err := own.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(pipe).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	ended(t, own.Process.Pid)
	for range 3 {
		a.reap()
	}
	if contains(Children(os.Getpid()), orphan) {
		t.Error("the orphan is a zombie still")
	}
	if err := own.Wait(); err == nil || own.ProcessState.ExitCode() != 7 {
		t.Errorf("the end of a command of ours was taken away: %v", err)
	}
}

func osPipe(t *testing.T, c *exec.Cmd) (r, w *os.File, err error) {
	t.Helper()
	r, w, err = os.Pipe()
	c.ExtraFiles = []*os.File{r}
	return r, w, err
}

func contains(list []int, pid int) bool { return slices.Contains(list, pid) }

// ended waits until a child is a zombie, and leaves it one.
func ended(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
}
