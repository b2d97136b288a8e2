package chat

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/chat/files"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/transcript"
)

// message is a message that the daemon has not accepted yet.
type message struct {
	text   string
	images []transcript.Media
}

type images = []transcript.Media

// attachments are the images that labels in messages stand for. They stay when their label is
// deleted, because it can come back: by undo, from the history, or with a message that was not sent.
//
//	@plan.png, a dropped file, Ctrl-V ─► label in the box ─► message ─► the daemon
//	                                      ▲    a queued message, a rewind │
//	                                      └────────── entry ◄─────────────┘
type attachments struct {
	images map[string]transcript.Media // by label
	number int                         // the highest number of a label in this conversation
}

// add returns the label of a new image.
func (a *attachments) add(m transcript.Media) string {
	a.number++
	label := inputimage.Label(a.number, m.Name, len(m.Data))
	a.set(label, m)
	return label
}

func (a *attachments) set(label string, m transcript.Media) {
	if a.images == nil {
		a.images = map[string]transcript.Media{}
	}
	a.images[label] = m
}

// see notes the numbers of labels in a message, so that new ones differ.
func (a *attachments) see(text string) {
	_, numbers := inputimage.Labels(text)
	for _, n := range numbers {
		a.number = max(a.number, n)
	}
}

// of returns the images of the labels in a text, and labels whose images this program does not have.
func (a *attachments) of(text string) (images []transcript.Media, unknown []string) {
	labels, _ := inputimage.Labels(text)
	for i, l := range labels {
		switch m, ok := a.images[l]; {
		case slices.Contains(labels[:i], l):
		case ok:
			images = append(images, m)
		default:
			unknown = append(unknown, l)
		}
	}
	return images, unknown
}

// entry returns a message for the box, with its labels as blocks. Images without a label get one.
func (a *attachments) entry(text string, images []transcript.Media) edit.Entry {
	a.see(text)
	labels, numbers := inputimage.Labels(text)
	for i, l := range labels {
		at := slices.IndexFunc(images, func(m transcript.Media) bool { return inputimage.Label(numbers[i], m.Name, len(m.Data)) == l })
		if at >= 0 {
			a.set(l, images[at])
			images = slices.Delete(slices.Clone(images), at, at+1)
		}
	}
	for _, m := range images {
		text = strings.TrimPrefix(text+" ", " ") + a.add(m)
	}
	e := edit.Entry{Text: text}
	labels, _ = inputimage.Labels(text)
	at := 0
	for _, l := range labels {
		start := at + strings.Index(text[at:], l)
		if at = start + len(l); a.images[l].Data != nil {
			e.Pastes = append(e.Pastes, [2]int{start, at})
		}
	}
	return e
}

// attach reads an image file, and returns its label.
func (u *ui) attach(name string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(u.cwd, name)
	}
	m, err := inputimage.ReadFile(name)
	if err != nil {
		return "", err
	}
	return u.labels.add(m), nil
}

// attachMention puts the label of an image into the box, in place of the text from start to the
// cursor. It reports false if the mention is not that of an image that can be sent.
func (u *ui) attachMention(start int, mention string) bool {
	_, all := files.Expand(mention, u.cwd, nil)
	if len(all) != 1 || !all[0].Image {
		return false
	}
	label, err := u.attach(all[0].Path)
	if err != nil {
		u.say(imageProblem(all[0].Path, err))
		return false
	}
	u.box.Block(start, label)
	u.box.Paste(" ")
	return true
}

func imageProblem(name string, err error) string {
	return name + " is only named, because " + err.Error()
}

// message returns the message that a text becomes: its mentions are resolved, and its labels have
// their images.
func (u *ui) message(text string) message {
	text, _ = files.Expand(text, u.cwd, func(name string) string {
		label, err := u.attach(name)
		if err != nil {
			u.note(imageProblem(name, err))
		} else if u.look.Plain { // the box does not show it
			u.note("with the message: " + label)
		}
		return label
	})
	images, unknown := u.labels.of(text)
	for _, l := range unknown {
		u.note(l + " is sent as text: this program does not have the image")
	}
	return message{text, images}
}

// pasteImage puts the image of the clipboard into the box.
func (u *ui) pasteImage() {
	u.say("reading the clipboard")
	u.later(func(ctx context.Context) func() {
		data, err := u.clipboard(ctx)
		return func() {
			if u.say(errorLine(err)); err == nil {
				u.box.Block(-1, u.labels.add(transcript.Media{Name: "clipboard.png", Data: data}))
				u.box.Paste(" ")
				u.focus()
			}
		}
	})
}

// errorLine returns an error and its hint in one line.
func errorLine(err error) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(errorText(err), "\n", "; ")
}
