package keymap

import "strings"

// actions lists all actions in the order of /help.
var actions = table(`
chat.send         enter                            | send; while the agent works, it reads the message before its next step
chat.newline      alt-enter shift-enter ctrl-enter ctrl-j | a new line; so does \ before Enter
chat.interrupt    esc                              | interrupt the agent; twice: go back to an earlier message, or clear the box
chat.mode         shift-tab                        | the next permission mode
chat.transcript   ctrl-o                           | open everything: whole output, thinking, sub-agents
chat.question     ctrl-g                           | answer the question that waits, or put it aside
chat.editor       ctrl-x                           | write in $EDITOR
chat.image        ctrl-v                           | put the image on the clipboard into the box
chat.clear        ctrl-l                           | clear the screen
chat.suspend      ctrl-z                           | suspend
chat.leave        ctrl-d                           | leave, while the box is empty; a working agent continues in the daemon
chat.pageUp       pgup                             | on the whole screen: scroll up by a page
chat.pageDown     pgdown                           | on the whole screen: scroll down by a page
chat.rowUp        shift-up                         | on the whole screen: scroll up by a row
chat.rowDown      shift-down                       | on the whole screen: scroll down by a row
editor.up         up ctrl-p                        | the row above; from the first row: earlier messages; in an empty box: take a queued message back
editor.down       down ctrl-n                      | the row below; from the last row: later messages
editor.left       left ctrl-b                      | a character to the left
editor.right      right ctrl-f                     | a character to the right
editor.wordLeft   alt-b ctrl-left alt-left         | a word to the left
editor.wordRight  alt-f ctrl-right alt-right       | a word to the right
editor.lineStart  ctrl-a home                      | the start of the line
editor.lineEnd    ctrl-e end                       | the end of the line
editor.start      alt-< ctrl-home alt-home         | the start of the text
editor.end        alt-> ctrl-end alt-end           | the end of the text
editor.deleteLeft backspace ctrl-h                 | delete the character to the left
editor.deleteRight delete ctrl-d                   | delete the character to the right
editor.killWordLeft alt-backspace ctrl-backspace   | delete the word to the left
editor.killWordRight alt-d alt-delete ctrl-delete  | delete the word to the right
editor.killToSpace ctrl-w                          | delete to the space on the left
editor.killLineStart ctrl-u                        | delete to the start of the line
editor.killLineEnd ctrl-k                          | delete to the end of the line
editor.yank       ctrl-y                           | insert what was deleted last
editor.yankOlder  alt-y                            | after that: insert what was deleted before it
editor.transpose  ctrl-t                           | swap two characters
editor.undo       ctrl-_                           | undo
editor.redo       alt-/                            | undo what was undone
editor.search     ctrl-r                           | search in earlier messages
search.older      ctrl-r                           | the next match
search.newer      ctrl-s                           | the match before
search.accept     tab esc                          | take the match
search.cancel     ctrl-g                           | end the search
completion.accept tab                              | take the completion
completion.up     up ctrl-p                        | the completion above
completion.down   down ctrl-n                      | the completion below
list.choose       enter ctrl-j                     | choose
list.cancel       ctrl-g esc                       | close the list
list.up           up ctrl-p shift-tab              | the entry above
list.down         down ctrl-n tab                  | the entry below
list.pageUp       pgup                             | a page up
list.pageDown     pgdown                           | a page down
page.close        q esc                            | close the page
page.editor       o                                | open the text in $EDITOR
page.up           up k ctrl-p                      | a row up
page.down         down j ctrl-n                    | a row down
page.pageUp       pgup b ctrl-b                    | a page up
page.pageDown     pgdown space f ctrl-f            | a page down
page.halfUp       u ctrl-u                         | half a page up
page.halfDown     d ctrl-d                         | half a page down
page.top          g home <                         | the start
page.bottom       G end >                          | the end
page.fold         enter tab                        | fold or unfold a part
page.foldAll      e                                | fold or unfold all parts
page.nextPart     ]                                | the next part
page.previousPart [                                | the part before
page.find         /                                | find a text
page.next         n                                | the next match
page.previous     N                                | the match before
question.next     right tab                        | the next question
question.previous left                             | the question before
question.pageDown space pgdown                     | scroll down by a page
question.pageUp   pgup                             | scroll up by a page
question.down     down                             | scroll down by a row
question.up       up                               | scroll up by a row
question.end      end                              | scroll to the end
question.start    home                             | scroll to the start
`)

func table(text string) (list []Action) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		head, help, _ := strings.Cut(line, " | ")
		words := strings.Fields(head)
		list = append(list, Action{Name: words[0], Keys: words[1:], Help: strings.TrimSpace(help)})
	}
	return list
}
