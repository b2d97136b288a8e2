package screentest

import (
	"fmt"
	"strings"
	"testing"
)

// sizes are the sizes of terminals in golden files.
var sizes = [][2]int{{80, 24}, {120, 40}, {60, 20}}

// atSizes runs a test at each size. The function that it gets completes the names of golden files.
func atSizes(t *testing.T, play string, test func(w *terminal, name func(string) string)) {
	for i, s := range sizes {
		if testing.Short() && i > 0 {
			break
		}
		size := fmt.Sprintf("%dx%d", s[0], s[1])
		t.Run(size, func(t *testing.T) {
			d := newDesk(t, play)
			test(d.open("one", s[0], s[1]), func(screen string) string { return screen + "." + size })
		})
	}
}

// hello is the script of a conversation that is not about the model.
const hello = `
name: play
context: 200000
price: {input: 3, output: 15}
steps:
  - when: {any: true}
    text: Hello.
`

// An image is a block in the box, and then a part of the message.
func TestImage(t *testing.T) {
	atSizes(t, hello, func(w *terminal, name func(string) string) {
		w.write("design/header.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01"+strings.Repeat("x", 12_000))
		w.holdfast("")
		w.types("make it like @hea")
		w.shows("header.png")
		w.press("Tab")
		w.types("but in blue")
		w.golden(name("image"))
		w.press("Enter")
		w.shows("Hello.", "1 model call")
		w.golden(name("image.sent"))
	})
}

func TestStart(t *testing.T) {
	atSizes(t, hello, func(w *terminal, name func(string) string) {
		w.write("README.md", "# A project\n\nIt has two files.\n")
		w.write("notes/über uns.txt", "many words\n")
		w.write("src/main.go", "package main\n\nfunc main() {}\n")
		w.write("src/main_test.go", "package main\n")
		w.write("../.holdfast/history.jsonl", `{"text":"Explain the tests."}`+"\n"+`{"text":"Fix the test of Add\nand of Div."}`+"\n"+`{"text":"What does main do?"}`+"\n")
		w.holdfast("")
		w.golden(name("start"))
		w.types("/re")
		w.golden(name("slash"))
		w.press("Escape")
		w.hides("continue another session")
		w.press("C-u")
		w.shows("ask for something")
		w.types("see @ma")
		w.shows("main_test.go")
		w.golden(name("files"))
		w.press("Tab")
		w.shows("see @src/main.go")
		w.hides("main_test.go")
		w.press("C-u")
		w.press("C-r")
		w.types("test")
		w.golden(name("history"))
		w.press("C-r")
		w.shows("Explain the tests.")
		w.press("C-g")
		w.shows("ask for something")
		w.types("/help")
		w.press("Enter")
		w.golden(name("help"))
		w.press("q")
		w.shows("ask for something")
	})
}

const longAnswer = `
name: play
context: 200000
chunk: %d
delay: {chunk: %s}
steps:
  - when: {user: "long"}
    text: |
      # A long answer

      Here is **bold**, *emphasis*, ~~no~~, %[3]scode%[3]s and a [link](https://example.com/a). This paragraph is long enough to be wrapped in every one of the terminals.

      | name | value | what it says |
      |---|--:|---|
      | alpha | 1 | the first letter of the Greek alphabet |
      | 漢字 | 22 | wide characters |

      %[3]s%[3]s%[3]sgo
      package main

      import "fmt"

      func main() {
      	fmt.Println("hello, 世界 👩‍👩‍👧") // a comment
      }
      %[3]s%[3]s%[3]s

      1. one
      2. two
         - nested, with text that goes on and on until it has to continue in the next line
         - [x] done

      > A quotation.

      The end.
`

func answerPlay(chunk int, delay string) string {
	return fmt.Sprintf(longAnswer, chunk, delay, "`")
}

// The screen in the middle of an answer: the last delta never comes.
func TestStreaming(t *testing.T) {
	atSizes(t, answerPlay(420, "24h"), func(w *terminal, name func(string) string) {
		w.holdfast("")
		w.says("a long answer please")
		w.shows("fmt.Println")
		w.golden(name("streaming"))
		w.press("Escape")
		w.shows("interrupted")
		w.golden(name("interrupted"))
	})
}

// The same answer in small deltas looks at the end as if it had come at once.
func TestStreamed(t *testing.T) {
	atSizes(t, answerPlay(7, "2ms"), func(w *terminal, name func(string) string) {
		w.holdfast("")
		w.says("a long answer please")
		w.shows("The end.", "1 model call")
		w.goldenOf(name("answer"), w.all)
	})
}

func TestStreamedColors(t *testing.T) {
	for _, theme := range []string{"dark", "light"} {
		t.Run(theme, func(t *testing.T) {
			w := newDesk(t, answerPlay(0, "0s")).open("one", 80, 40)
			w.holdfast("")
			w.says("/theme " + theme)
			w.shows("theme " + theme + ": saved in")
			w.says("a long answer please")
			w.shows("The end.", "1 model call")
			w.goldenColors("answer." + theme)
		})
	}
}
