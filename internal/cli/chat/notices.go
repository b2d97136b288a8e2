package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// noticesFile is the file with the digests of the notices that the user has seen, by folder, in the
// home folder.
const noticesFile = "notices.json"

// maxSeen is how many folders are remembered.
const maxSeen = 500

// showNotices prints the notices about settings. Those that the user has seen at the last start in
// this folder are only counted.
func (u *ui) showNotices(list []env.Notice, seen bool) {
	if seen {
		u.note(term.Count(len(list), "notice") + " about settings and files, as at the last start; /notices shows them")
		return
	}
	u.printNotices(list)
}

func (u *ui) printNotices(list []env.Notice) {
	for _, n := range list {
		u.notice(n)
	}
}

func (u *ui) openNotices(string) {
	if len(u.s.About().Notices) == 0 {
		u.say("there are no notices about settings and files")
		return
	}
	u.printNotices(u.s.About().Notices)
}

// seenNotices reports whether the notices are those of the last start, and remembers them. If the
// file cannot be used, they count as new.
func (u *ui) seenNotices(list []env.Notice) bool {
	if len(list) == 0 {
		return false
	}
	home, err := u.p.Home()
	if err != nil {
		return false
	}
	var lines []string
	for _, n := range list {
		lines = append(lines, n.String())
	}
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	digest := hex.EncodeToString(sum[:])
	file, seen := filepath.Join(home, noticesFile), map[string]string{}
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && json.Unmarshal(b, &seen) != nil {
		seen = map[string]string{}
	}
	if seen[u.cwd] == digest {
		return true
	}
	if len(seen) >= maxSeen {
		clear(seen)
	}
	seen[u.cwd] = digest
	if b, err = json.Marshal(seen); err == nil && os.MkdirAll(home, 0o700) == nil {
		_ = diskfile.Write(file, b) // then they are shown again
	}
	return false
}
