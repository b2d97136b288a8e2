package shell_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/tool/shell"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

type shellEnv struct {
	testing.TB
	dir     string
	folders *workdir.Folders
	bash    tool.Tool
	tools   []tool.Tool
}

// opener opens a shellEnv, in a sandbox or without.
type opener func(t testing.TB, opts *shell.Options) *shellEnv

// everywhere runs a test twice: a command behaves the same whether a sandbox holds
// it or not.
func everywhere(t *testing.T, test func(t *testing.T, open opener)) {
	t.Run("plain", func(t *testing.T) { test(t, open) })
	t.Run("confined", func(t *testing.T) { test(t, openConfined) })
}

func openConfined(t testing.TB, opts *shell.Options) *shellEnv {
	t.Helper()
	return openWith(t, opts, &sandbox.Settings{}, nil)
}

// openWith opens a shellEnv in a sandbox with these settings.
func openWith(t testing.TB, opts *shell.Options, s *sandbox.Settings, o *sandbox.OpenOptions) *shellEnv {
	t.Helper()
	checker, err := sandbox.NewChecker(s, &sandbox.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	held := shell.Options{}
	if opts != nil {
		held = *opts
	}
	with := sandbox.OpenOptions{}
	if o != nil {
		with = *o
	}
	with.Folders = []string{realTemp(t)}
	held.Sandbox, err = sandbox.Open([]*sandbox.Checker{checker}, &with)
	if err != nil {
		testneed.Need(t, "the kernel sandbox cannot be opened here, holdfast doctor says why: %v", err)
	}
	t.Cleanup(func() {
		if err := held.Sandbox.Close(); err != nil {
			t.Error(err)
		}
	})
	return openIn(t, with.Folders[0], &held)
}

func realTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t testing.TB, opts *shell.Options) *shellEnv {
	t.Helper()
	return openIn(t, realTemp(t), opts)
}

func openIn(t testing.TB, dir string, opts *shell.Options) *shellEnv {
	t.Helper()
	folders, err := workdir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folders.Close() })
	s, err := shell.New(folders, opts)
	if err != nil {
		t.Fatal(err)
	}
	return &shellEnv{TB: t, dir: dir, folders: folders, bash: s.Tools()[0], tools: s.Tools()}
}

func (b *shellEnv) run(ctx context.Context, command string, timeout int) (string, tool.Result) {
	b.Helper()
	in, _ := json.Marshal(map[string]any{"command": command, "timeout": timeout})
	r, err := b.bash.Run(ctx, &tool.Call{ID: "c1", Tool: "Bash", Input: in})
	if err != nil {
		b.Fatalf("%s: %v", command, err)
	}
	return textOf(r), r
}

func textOf(r tool.Result) string { return transcript.ToolResult{Content: r.Content}.Text() }

func TestBash(t *testing.T) {
	everywhere(t, func(t *testing.T, open opener) {
		for _, tt := range []struct {
			name, command, want string
			code                int
			isError             bool
		}{
			{"output", "echo hello", "hello\n", 0, false},
			{"both streams, in order", "echo a; echo b >&2; echo c", "a\nb\nc\n", 0, false},
			{"nothing to say", "true", "(no output)", 0, false},
			{"exit code", "exit 3", "Exit code: 3", 3, false},
			{"output and exit code", "printf x; exit 3", "x\nExit code: 3", 3, false},
			{"exit code after cd", "cd .; (exit 4)", "Exit code: 4", 4, false},
			{"last command fails", "cd .; false", "Exit code: 1", 1, false},
			{"not found", "no-such-program 2>/dev/null", "Exit code: 127", 127, false},
			{"signal", "kill -9 $$", "[ended by signal 9: killed]", 137, true},
			{"standard input is empty", "cat", "(no output)", 0, false},
			{"no terminal", "(: </dev/tty) 2>/dev/null || echo none", "none\n", 0, false},
			{"not UTF-8", `printf 'a\377b\000c'`, "a\uFFFDb\uFFFDc", 0, false},
			{"unclosed here-document", "{ cat <<EOF\nhi", "/bin/bash: line 2: warning: here-document at line 1", 2, false},
			{"empty", "  ", "command must not be empty", 0, true},
			{"NUL", "a\x00b", "command must not contain a NUL", 0, true},
			{"too long for the kernel", "true " + strings.Repeat("x", 3<<20), "starting the command failed: ", 0, true},
		} {
			t.Run(tt.name, func(t *testing.T) {
				got, r := open(t, nil).run(t.Context(), tt.command, 0)
				if !strings.HasPrefix(got, tt.want) || r.IsError != tt.isError {
					t.Errorf("got %q, error %v; want %q", got, r.IsError, tt.want)
				}
				if r.ExitCode != nil && *r.ExitCode != tt.code {
					t.Errorf("exit code %d, want %d", *r.ExitCode, tt.code)
				}
			})
		}
	})
}

func TestBashKeepsTheDirectory(t *testing.T) {
	everywhere(t, func(t *testing.T, open opener) {
		b := open(t, nil)
		if err := os.MkdirAll(filepath.Join(b.dir, "a/b c"), 0o755); err != nil {
			t.Fatal(err)
		}
		const outside = "/usr" // there in the sandbox, too
		if err := os.Symlink(outside, filepath.Join(b.dir, "out")); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct{ command, out, cwd string }{
			{"pwd", b.dir + "\n", ""},
			{"cd a", "(no output)", "a"},
			{"pwd", b.dir + "/a\n", "a"},
			{"(cd /)", "(no output)", "a"},
			{"cd 'b c'; exit 7", "Exit code: 7", "a/b c"},
			{"cd ..; exec true", "(no output)", "a/b c"}, // the shell was gone before it could tell
			{"pushd .. >/dev/null", "(no output)", "a"},
			{"cd /", "[/ is outside the session's folders; the current directory is still " + b.dir + "/a]", "a"},
			{"cd ../out && pwd", b.dir + "/out\n[" + outside + " is outside", "a"},
			{"trap 'echo mine' EXIT; cd b*", "mine\n", "a"},
			{"cd ..; echo x >&29; pwd", b.dir + "\n", "a"}, // a lie is not believed
			{"cd -- ..; sleep 0 & wait", "(no output)", ""},
		} {
			got, _ := b.run(t.Context(), tt.command, 0)
			if !strings.HasPrefix(got, tt.out) {
				t.Errorf("%s: got %q, want %q", tt.command, got, tt.out)
			}
			if cwd := b.folders.Cwd(); cwd != filepath.Join(b.dir, tt.cwd) {
				t.Errorf("%s: in %s, want %s", tt.command, cwd, tt.cwd)
			}
		}
	})
}

func TestBashWhenTheDirectoryIsGone(t *testing.T) {
	everywhere(t, func(t *testing.T, open opener) {
		b := open(t, nil)
		b.run(t.Context(), "mkdir d && cd d", 0)
		b.run(t.Context(), "rmdir ../d", 0)
		got, r := b.run(t.Context(), "pwd", 0)
		if !r.IsError || !strings.Contains(got, "no longer exists; it is now "+b.dir) {
			t.Errorf("got %q", got)
		}
		if got, _ = b.run(t.Context(), "pwd", 0); got != b.dir+"\n" {
			t.Errorf("then %q", got)
		}
	})
}

func TestBashEnvironment(t *testing.T) {
	everywhere(t, func(t *testing.T, open opener) {
		t.Setenv("HOLDFAST_TEST_API_KEY", "made-up")
		t.Setenv("LC_TIME", "C")
		got, _ := open(t, &shell.Options{Env: []string{"MINE=1"}}).run(t.Context(), "env", 0)
		if strings.Contains(got, "made-up") {
			t.Error("a secret of ours reached a command")
		}
		for _, want := range []string{"PATH=" + os.Getenv("PATH"), "MINE=1", "LC_TIME=C"} {
			if !strings.Contains(got, want+"\n") {
				t.Errorf("no %s in\n%s", want, got)
			}
		}
	})
}

func TestBashTimeout(t *testing.T) {
	everywhere(t, func(t *testing.T, open opener) {
		quick := &shell.Options{Grace: 50 * time.Millisecond}
		for _, tt := range []struct{ name, command string }{
			{"plain", "sleep 30"},
			{"deaf to SIGTERM", "trap '' TERM; echo begun; sleep 30; sleep 30"},
			{"grandchildren", "(sleep 30 & sleep 30 & wait) & sleep 30"},
			{"stopped", "kill -STOP $$"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				got, r := open(t, quick).run(t.Context(), tt.command, 100)
				if !r.IsError || !strings.HasSuffix(got, "Command timed out after 100ms.") {
					t.Errorf("got %q", got)
				}
			})
		}
	})
}

func TestBashCancel(t *testing.T) {
	everywhere(t, func(t *testing.T, open opener) {
		ctx, cancel := context.WithCancel(t.Context())
		b := open(t, &shell.Options{Progress: func(id string, chunk []byte) {
			if id == "c1" && bytes.Contains(chunk, []byte("begun")) {
				cancel()
			}
		}})
		got, r := b.run(ctx, "echo begun; sleep 30", 0)
		if !r.IsError || got != "begun\nCommand was cancelled." {
			t.Errorf("got %q", got)
		}
	})
}

// A child that holds the pipe neither delays the answer nor outlives it.
func TestBashBackground(t *testing.T) {
	b := open(t, nil)
	got, r := b.run(t.Context(), "sleep 100 & echo $!", 0)
	first, rest, _ := strings.Cut(got, "\n")
	if r.IsError || rest != "[processes left in the background were stopped]" {
		t.Errorf("got %q", got)
	}
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	if !gone(pid) {
		t.Errorf("process %d lives on", pid)
	}
}

// A child in a session of its own escapes the kill, but not even it is waited for.
func TestBashDoesNotWaitForDaemons(t *testing.T) {
	b := open(t, nil)
	got, _ := b.run(t.Context(), "setsid sleep 100 & setsid -f sh -c 'echo $$; exec sleep 100'; sleep 0.1; echo done", 0)
	if !strings.Contains(got, "done") {
		t.Errorf("got %q", got)
	}
	for f := range strings.FieldsSeq(got) {
		if pid, err := strconv.Atoi(f); err == nil {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
	}
}

// gone says whether a process has ended; a killed one may take its time to.
func gone(pid int) bool {
	for range 1000 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) || bytes.Contains(stat, []byte(") X ")) {
			return true
		}
		_ = exec.Command("true").Run()
	}
	return false
}

func TestBashFlood(t *testing.T) {
	everywhere(t, func(t *testing.T, open opener) {
		b := open(t, &shell.Options{OutputDir: filepath.Join(t.TempDir(), "out"), MaxFile: 1 << 20, MaxOutput: 1000})
		got, _ := b.run(t.Context(), "echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last", 0)
		if len(got) > 1300 || !strings.HasPrefix(got, "first\nxxx") || !strings.HasSuffix(got, "xxx\nlast\n") {
			t.Errorf("got %d bytes: %.40q … %q", len(got), got, got[len(got)-40:])
		}
		_, path, found := strings.Cut(got, "the first 1048576 bytes are in ")
		if !found {
			t.Fatalf("no file named in %q", got)
		}
		path, _, _ = strings.Cut(path, " (sha256 ")
		info, err := os.Stat(path)
		if err != nil || info.Size() != 1<<20 || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	})
}

func TestBashLongOutputIsKept(t *testing.T) {
	everywhere(t, func(t *testing.T, open opener) {
		dir := t.TempDir()
		b := open(t, &shell.Options{OutputDir: dir, MaxOutput: 1000})
		got, _ := b.run(t.Context(), "seq 1000", 0)
		files, err := filepath.Glob(dir + "/*")
		if err != nil || len(files) != 1 || !strings.Contains(got, "the whole output is in "+files[0]) {
			t.Fatalf("%v, %v, %q", files, err, got)
		}
		kept, err := os.ReadFile(files[0])
		if about := fmt.Sprintf(" (%d bytes, sha256 %x)", len(kept), sha256.Sum256(kept)); !strings.Contains(got, files[0]+about) {
			t.Errorf("no %q in %q", about, got)
		}
		want, _ := exec.Command("seq", "1000").Output()
		if err != nil || !bytes.Equal(kept, want) {
			t.Errorf("kept %d bytes, %v", len(kept), err)
		}
		// Exactly at the limit nothing is left out.
		if got, _ = b.run(t.Context(), "head -c 1000 /dev/zero | tr '\\0' y", 0); got != strings.Repeat("y", 1000) {
			t.Errorf("at the limit: %q", got)
		}
	})
}

func TestBashRequests(t *testing.T) {
	b := open(t, nil)
	got, err := b.bash.Requests(&tool.Call{Input: json.RawMessage(`{"command":"ls -l","description":"look"}`)})
	if err != nil || len(got) != 1 || got[0].Operation != policy.OpCommand || got[0].Resource != "ls -l" || got[0].ReadOnly {
		t.Errorf("%+v, %v", got, err)
	}
	if want := b.folders.Cwd(); got[0].Cwd != want {
		t.Errorf("it would start in %q, want %q", got[0].Cwd, want)
	}
	if _, err := b.bash.Requests(&tool.Call{Input: json.RawMessage(`{"command":""}`)}); err == nil {
		t.Error("an empty command was taken")
	}
}

// Bash should cost little more than the process itself: the two take turns, so
// that a busy machine slows both, and the medians are compared.
func BenchmarkBash(b *testing.B) {
	for _, command := range []string{"true", "cd ."} {
		b.Run(command, func(b *testing.B) {
			t := open(b, nil)
			in := json.RawMessage(fmt.Sprintf(`{"command":%q}`, command))
			var ours, bare []time.Duration
			for b.Loop() {
				start := time.Now()
				if err := exec.Command("/bin/bash", "-c", command).Run(); err != nil {
					b.Fatal(err)
				}
				between := time.Now()
				if _, err := t.bash.Run(b.Context(), &tool.Call{ID: "c1", Tool: "Bash", Input: in}); err != nil {
					b.Fatal(err)
				}
				bare, ours = append(bare, between.Sub(start)), append(ours, time.Since(between))
			}
			slices.Sort(bare)
			slices.Sort(ours)
			half := len(bare) / 2
			b.ReportMetric(float64(bare[half].Microseconds()), "bare-µs")
			b.ReportMetric(float64(ours[half].Microseconds()), "ours-µs")
			b.ReportMetric(float64(ours[half])/float64(bare[half]), "ratio")
		})
	}
}

func ExampleNew() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	folders, err := workdir.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer folders.Close()
	sh, err := shell.New(folders, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	bash := sh.Tools()[0]
	for _, in := range []string{`{"command":"mkdir sub && cd sub"}`, `{"command":"basename $PWD; exit 2"}`} {
		r, _ := bash.Run(context.Background(), &tool.Call{ID: "1", Tool: "Bash", Input: json.RawMessage(in)})
		fmt.Println(textOf(r))
	}
	// Output:
	// (no output)
	// sub
	// Exit code: 2
}
