package erasetest

import (
	"bufio"
	"crypto/rand"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/freeport"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// PostgreSQL's dump contains nothing that was erased.
func TestErasedNotInPostgresDump(t *testing.T) {
	server, bin := os.Getenv("HOLDFAST_TEST_POSTGRES"), os.Getenv("HOLDFAST_POSTGRES_BIN")
	if server == "" || bin == "" {
		testneed.Need(t, `HOLDFAST_TEST_POSTGRES and HOLDFAST_POSTGRES_BIN are not set: eval "$(scripts/services env postgres)"`)
	}
	name := "erasetest_" + strings.ToLower(rand.Text())
	sql := func(text string) {
		t.Helper()
		if out, err := exec.Command(filepath.Join(bin, "psql"), "-q", "-d", server, "-c", text).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", text, err, out)
		}
	}
	sql("CREATE DATABASE " + name)
	t.Cleanup(func() { sql("DROP DATABASE " + name + " WITH (FORCE)") })
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	h := newHome(t, u.String())
	sessions := h.plant()
	h.run("sessions", "search", "--all", word)
	dump := func() string {
		t.Helper()
		out, err := exec.Command(filepath.Join(bin, "pg_dump"), "-d", u.String()).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if !strings.Contains(dump(), word) {
		t.Error("the word was not planted")
	}
	h.erased(sessions)
	// Payloads are bytea, which a dump has in hexadecimal.
	for _, form := range []string{word, hexadecimal(word)} {
		if strings.Contains(dump(), form) {
			t.Errorf("the dump has %s", form)
		}
	}
}

func hexadecimal(s string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for i := range len(s) {
		b.WriteByte(digits[s[i]>>4])
		b.WriteByte(digits[s[i]&15])
	}
	return b.String()
}

// Redis's files, its dump and its append-only file, contain nothing that was erased.
func TestErasedNotInRedisFiles(t *testing.T) {
	server := os.Getenv("HOLDFAST_TEST_REDIS_SERVER")
	if server == "" {
		testneed.Need(t, `HOLDFAST_TEST_REDIS_SERVER names no program: eval "$(scripts/services env redis)"`)
	}
	port := strconv.Itoa(freeport.Pick(t))
	dir := t.TempDir()
	c := exec.Command(server, "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--appendonly", "yes", "--appendfsync", "always", "--rdbcompression", "no", "--save", "")
	said, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "Ready to accept connections") {
		continue
	}
	go func() { _, _ = io.Copy(io.Discard, said) }() // ends with the server
	h := newHome(t, "redis://127.0.0.1:"+port)
	sessions := h.plant()
	if len(hits(t, dir)) == 0 {
		t.Error("the word was not planted")
	}
	h.erased(sessions)
	if found := hits(t, dir); len(found) > 0 {
		t.Errorf("the word is still in Redis' %v", found)
	}
}

// A mirror follows what any command that knows of it erases and deletes.
func TestMirrorFollows(t *testing.T) {
	h := newHome(t, "")
	mirror := filepath.Join(h.dir, "mirror")
	h.env = append(h.env, "HOLDFAST_MIRROR=file:"+mirror)
	h.plant()
	if len(hits(t, mirror)) == 0 {
		t.Fatal("the mirror has nothing")
	}
	h.run("sessions", "redact", "--match", word, "--yes", "third")
	h.run("sessions", "delete", "--yes", claudeID)
	if found := hits(t, mirror); len(found) > 0 {
		t.Errorf("the word is still in the mirror's %v", found)
	}
}
