package chat

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/transcript"
)

// dot is an image of one pixel.
func dot(t *testing.T) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (x *user) file(name string, data []byte) string {
	x.t.Helper()
	path := filepath.Join(x.u.cwd, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		x.t.Fatal(err)
	}
	return path
}

// sent returns the names of the images in the user's messages of the session.
func (x *user) sent() (list []string) {
	x.t.Helper()
	points, err := x.u.s.Messages(x.t.Context())
	if err != nil {
		x.t.Fatal(err)
	}
	for _, m := range points {
		names := ""
		for _, i := range m.Images {
			if !bytes.Equal(i.Data, dot(x.t)) {
				x.t.Errorf("%s has other data", i.Name)
			}
			names += i.Name + " "
		}
		list = append(list, strings.TrimSpace(names))
	}
	return list
}

func wantSent(x *user, want string) {
	x.t.Helper()
	if got := strings.Join(x.sent(), ";"); got != want {
		x.t.Errorf("sent %q, want %q", got, want)
	}
}

// A dropped file, a completed @file and the clipboard become blocks in the box. They are sent as
// images, without the one that was deleted, and shown in the conversation.
func TestImages(t *testing.T) {
	x := talk(t, twoAnswers, nil)
	dropped := x.file("drop it.png", dot(t))
	x.file("shot.png", dot(t))
	x.u.clipboard = func(context.Context) ([]byte, error) { return dot(t), nil }
	x.u.paste("'" + dropped + "'")
	x.until("> [Image #1 drop it.png 1 KiB]")
	x.types("and @sho")
	x.until("shot.png")
	x.press("tab")
	x.until("[Image #2 shot.png 1 KiB]")
	x.press("backspace", "backspace")
	x.until("[Image #1 drop it.png 1 KiB] and")
	x.press("ctrl-v")
	x.until("[Image #3 clipboard.png 1 KiB]")
	x.says("@shot.png?")
	s := x.until("Hello to you.")
	if want := "[Image #1 drop it.png 1 KiB] and [Image #3 clipboard.png 1 KiB] [Image #4 shot.png 1 KiB]?"; !strings.Contains(strings.ReplaceAll(s, "\n▌ ", " "), want) {
		t.Errorf("no %q in\n%s", want, s)
	}
	x.until("1 model call")
	wantSent(x, "drop it.png clipboard.png shot.png")

	x.press("up", "end") // the history has @shot.png, as it was typed
	x.says(" again")
	x.until("And again.")
	wantSent(x, "drop it.png clipboard.png shot.png;drop it.png clipboard.png shot.png")

	other, err := newUI(t.Context(), x.u.p, &Start{Run: x.u.s.flags})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.inbox.Close)
	other.s = x.u.s
	other.enter("")
	y := &user{t: t, u: other}
	y.until("And again.")
	if label := other.labels.add(transcript.Media{Name: "a.png"}); !strings.HasPrefix(label, "[Image #6 ") {
		t.Errorf("the next label in another terminal is %s", label)
	}
}

// A queued message keeps its images: it is shown with them, and when it is taken back, sent again or
// rewound to, they are still there.
func TestImageQueued(t *testing.T) {
	x := talk(t, writesFile, nil)
	x.file("shot.png", dot(t))
	x.says("write it")
	x.until("allow once")
	x.press("ctrl-g")
	x.says("like @shot.png")
	x.until("like [Image #1 shot.png 1 KiB]  queued")
	x.u.labels = attachments{} // as in another terminal
	x.press("up")
	x.until("> like [Image #1 shot.png 1 KiB]")
	x.press("enter")
	x.until("like [Image #1 shot.png 1 KiB]  queued")
	x.press("ctrl-g")
	x.screen()
	time.Sleep(600 * time.Millisecond)
	x.types("y")
	x.until("2 model calls")
	wantSent(x, ";shot.png")
	x.u.labels = attachments{}
	x.press("esc", "esc")
	x.until("go back to before this message")
	x.press("enter")
	x.until("conversation and files")
	x.press("down", "enter")
	x.until("> like [Image #1 shot.png 1 KiB]")
	if e := x.u.box.Take(); len(e.Pastes) != 1 || len(x.u.labels.images) != 1 {
		t.Errorf("%+v", e)
	}
}

// What cannot be sent is said, and the message keeps the name.
func TestImageProblems(t *testing.T) {
	x := talk(t, twoAnswers, nil)
	bad := x.file("bad.png", []byte("text"))
	x.u.clipboard = func(context.Context) ([]byte, error) { return nil, errors.New("the clipboard has no image") }
	x.press("ctrl-v")
	x.until("the clipboard has no image")
	x.u.paste(bad)
	x.until("> @bad.png")
	x.until("bad.png is only named, because it is not an image that models accept")
	x.says(" [Image #7 old.png 1 KiB]")
	x.until("[Image #7 old.png 1 KiB] is sent as text")
	x.until("1 model call")
	wantSent(x, "")
	if s := x.screen(); !strings.Contains(s, "▌ bad.png [Image #7 old.png 1 KiB]") {
		t.Error(s)
	}
}

// The images of --image come with the first message, or alone.
func TestImageFlag(t *testing.T) {
	x := talk(t, twoAnswers, func(s *Start) { s.Images = images{{Name: "a.png", Data: dot(t)}} })
	if s := x.until("1 model call"); !strings.Contains(s, "▌ [Image #1 a.png 1 KiB]") {
		t.Error(s)
	}
	wantSent(x, "a.png")
}

func TestPlainImage(t *testing.T) {
	p := typeIn(t, twoAnswers, 100, nil)
	p.x.file("shot.png", dot(t))
	p.waits("your turn")
	p.types("see @shot.png")
	p.waits("with the message: [Image #1 shot.png 1 KiB]")
	p.waits("Hello")
	p.waits("your turn")
	p.leaves()
	wantSent(p.x, "shot.png")
}
