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

// An orphan of a command becomes a child of this process and is reaped. A command that other code
// waits for is left to that code.
func TestSubreaper(t *testing.T) {
	a, err := StartSubreaper()
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
		t.Fatalf("%d is not a child: %v", orphan, Children(os.Getpid()))
	}
	a.reap()
	a.reap()
	if !contains(Children(os.Getpid()), orphan) {
		t.Fatal("a running process was reaped")
	}
	w.Close()
	waitZombie(t, orphan)

	command := exec.Command("sh", "-c", "echo x; exit 7")
	pipe, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(pipe).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	waitZombie(t, command.Process.Pid)
	for range 3 {
		a.reap()
	}
	if contains(Children(os.Getpid()), orphan) {
		t.Error("the orphan is still a zombie")
	}
	if err := command.Wait(); err == nil || command.ProcessState.ExitCode() != 7 {
		t.Errorf("a command of this test was reaped: %v", err)
	}
}

func osPipe(t *testing.T, c *exec.Cmd) (r, w *os.File, err error) {
	t.Helper()
	r, w, err = os.Pipe()
	c.ExtraFiles = []*os.File{r}
	return r, w, err
}

func contains(list []int, pid int) bool { return slices.Contains(list, pid) }

// waitZombie waits until a child is a zombie and does not reap it.
func waitZombie(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
}
