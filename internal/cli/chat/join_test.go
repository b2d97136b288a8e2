package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
)

// A new session of the conversation begins in the mode of --permission-mode, as the first one did.
func TestClearKeepsMode(t *testing.T) {
	x := talk(t, twoAnswers, func(s *Start) { s.Run.PermissionMode = "plan" })
	x.says("hi")
	x.until("Hello to you.")
	first := x.u.s.ID()
	x.says("/clear")
	x.until("a new session begins")
	x.says("hi")
	x.until("1 model call")
	for x.u.s.ID() == "" {
		x.step()
	}
	if mode, err := x.u.s.Mode(t.Context()); mode != policy.ModePlan || err != nil || x.u.s.ID() == first {
		t.Errorf("the mode of the new session is %q, %v", mode, err)
	}
}

// elsewhere has a session with the title "over there" in another folder than the conversation.
func elsewhere(t *testing.T, play string) (x *user, there string) {
	t.Helper()
	home, here, there := t.TempDir(), t.TempDir(), t.TempDir()
	script := filepath.Join(t.TempDir(), "play.yaml")
	if err := os.WriteFile(script, []byte(play), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("there", func(t *testing.T) {
		x := talkIn(t, home, there, script, func(s *Start) { s.Run.Name = "over there" })
		x.says("hi")
		x.until("1 model call")
	})
	return talkIn(t, home, here, script, nil), there
}

// In a session of another folder, the conversation works in that folder.
func TestResumeInAnotherFolder(t *testing.T) {
	x, there := elsewhere(t, writesFile)
	x.u.context = []string{"output of a command here"}
	x.says("/resume over there")
	x.until("session ")
	if f := x.u.memoryFile(); filepath.Dir(f) != there {
		t.Errorf("notes are written to %s", f)
	}
	if x.u.context != nil {
		t.Error("what the user ran in the other folder would go to this session")
	}
	x.says("write it")
	x.until("allow once")
	time.Sleep(600 * time.Millisecond) // the guard is in real time
	x.types("p")
	x.screen()
	x.types("1")
	x.until("It is written.")
	if b, err := os.ReadFile(filepath.Join(there, ".holdfast", "settings.local.json")); err != nil || !strings.Contains(string(b), "Edit(") {
		list, _ := filepath.Glob(there + "/.holdfast/*")
		t.Errorf("the rule is not in the project of the session: %v, %q, %s", err, list, b)
	}
	x.says("/clear")
	x.until("a new session begins")
	if at := x.u.s.at(); at.spec.Cwd != there {
		t.Errorf("the new session is in %s", at.spec.Cwd)
	}
}

// A message that is typed while another session is being entered goes to that session, and one from
// before does not.
func TestMessagesWhileEntering(t *testing.T) {
	x, _ := elsewhere(t, twoAnswers)
	x.says("first here")
	x.says("second here")
	x.says("/resume over there")
	x.says("sent there")
	x.until("▌ sent there")
	x.until("1 model call")
	for title, want := range map[string]string{"over there": "hi|sent there", "first here": "first here|second here"} {
		if err := x.u.s.Join(t.Context(), find(t, x, title)); err != nil {
			t.Fatal(err)
		}
		list, err := x.u.s.Messages(t.Context())
		var texts []string
		for _, m := range list {
			texts = append(texts, strings.Split(m.Text, "\n\n")...)
		}
		if got := strings.Join(texts, "|"); err != nil || got != want {
			t.Errorf("%s has %q, %v", title, got, err)
		}
	}
}

// find returns the id of a session.
func find(t *testing.T, x *user, title string) string {
	t.Helper()
	list, err := x.u.s.Sessions(t.Context(), title)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list[0].Value
}

// After a session could not be entered, the conversation is in the one before, and what was typed for
// the other one is in the box.
func TestResumeFails(t *testing.T) {
	x, there := elsewhere(t, twoAnswers)
	x.says("hi")
	x.until("1 model call")
	before := x.u.s.at()
	if err := os.MkdirAll(filepath.Join(there, ".holdfast"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(there, ".holdfast", "settings.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nosuch", "over there"} {
		x.says("/resume " + name)
		x.says("for that session")
		x.until("> for that session")
		x.press("ctrl-u")
		if x.u.s.at() != before || x.u.opening {
			t.Errorf("%s: the session is %q", name, x.u.s.ID())
		}
	}
	x.says("and again")
	x.until("And again.")
}

// Commands for a session say that there is none before the first message.
func TestNoSession(t *testing.T) {
	x := talk(t, twoAnswers, nil)
	for x.u.s == nil {
		x.step()
	}
	for _, c := range []string{"/continue", "/rename x", "/fork", "/compact", "/export", "/rewind", "/stop"} {
		x.says(c)
		x.until(noSession)
		x.press("ctrl-u")
	}
	x.press("esc", "esc")
	x.until(noSession)
	if list, err := x.u.s.Sessions(t.Context(), ""); err != nil || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
	x.says("hi")
	x.says("/rename greetings") // while the session is being created
	x.until("the session is called greetings")
}

// A fork from before the first message is a new session, with the message in the box.
func TestForkBeforeFirstMessage(t *testing.T) {
	x := talk(t, twoAnswers, nil)
	x.says("hi")
	x.until("1 model call")
	x.press("esc", "esc")
	x.until("go back to before this message")
	x.press("enter")
	x.until("conversation and files")
	x.press("up", "enter")
	x.until("> hi")
	if id := x.u.s.ID(); id != "" {
		t.Errorf("the session %q has the messages of the old one", id)
	}
}

// A file that changes after the user has seen what a rewind would do is not rewound.
func TestRewindWhatWasShown(t *testing.T) {
	x := talk(t, writesFile, nil)
	x.says("write it")
	x.until("allow once")
	time.Sleep(600 * time.Millisecond) // the guard is in real time
	x.types("y")
	x.until("2 model calls")
	x.press("esc", "esc")
	x.until("go back to before this message")
	x.press("enter")
	x.until("conversation and files")
	file := filepath.Join(x.u.cwd, "hello.txt")
	if err := os.WriteFile(file, []byte("of somebody else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.press("enter")
	x.until("! rewind: ")
	if b, err := os.ReadFile(file); err != nil || string(b) != "of somebody else\n" {
		t.Errorf("%s, %v", b, err)
	}
}

// A conversation with a session that does not exist ends with an error.
func TestNoSuchSession(t *testing.T) {
	for _, plain := range []bool{false, true} {
		x := talk(t, twoAnswers, func(s *Start) { s.Run.Resume, s.Screen.Plain = "nosuch", plain })
		x.until("no such session")
		for !x.u.leaving {
			x.step()
		}
		if out := outcome.FromError(x.u.ended()); out != outcome.NotFound {
			t.Errorf("it ends with %v", out)
		}
	}
	x := talk(t, twoAnswers, func(s *Start) { s.Run.Continue = true })
	x.until("this project has no session yet")
	x.says("hi")
	x.until("Hello to you.")
}

// At the end of the input, the plain form stays while a message waits.
func TestPlainEndWhileWaiting(t *testing.T) {
	x := talk(t, twoAnswers, func(s *Start) { s.Screen.Plain = true })
	for x.u.s == nil {
		x.step()
	}
	l := &plain{u: x.u, ended: true, check: true}
	x.u.waiting = []message{{text: "hello"}}
	for x.u.pending > 0 {
		x.step()
	}
	if l.end(); x.u.pending > 0 || x.u.leaving {
		t.Error("it leaves")
	}
}

// The model gets the commands that the user ran; the user sees only the message.
func TestOwnCommandsAreNotTheMessage(t *testing.T) {
	x := talk(t, "steps:\n  - {when: {user: zebra}, text: I see it.}\n  - {text: Nothing.}", nil)
	x.u.context = []string{"$ cat animals\nzebra"}
	x.says("look")
	x.until("I see it.")
	x.until("1 model call")
	if s := x.screen(); strings.Contains(s, "zebra") {
		t.Errorf("the output is printed again:\n%s", s)
	}
	list, err := x.u.s.Sessions(t.Context(), "")
	if err != nil || len(list) != 1 || list[0].Text != "look" {
		t.Errorf("the title: %+v, %v", list, err)
	}
	messages, err := x.u.s.Messages(t.Context())
	if err != nil || len(messages) == 0 || strings.Contains(messages[0].Text, "zebra") {
		t.Errorf("%+v, %v", messages, err)
	}
}
