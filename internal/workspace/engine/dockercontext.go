package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// namedHost returns the address chosen for Docker's own programs: DOCKER_HOST, the context of
// DOCKER_CONTEXT, or the one set by `docker context use`. It is "" if no address was chosen.
func namedHost(env func(string) string) (string, error) {
	if host := env("DOCKER_HOST"); host != "" {
		return host, nil
	}
	dir := env("DOCKER_CONFIG")
	if dir == "" {
		dir = filepath.Join(env("HOME"), ".docker")
	}
	name, from := env("DOCKER_CONTEXT"), "DOCKER_CONTEXT"
	if name == "" {
		var settings struct {
			CurrentContext string `json:"currentContext"`
		}
		from = filepath.Join(dir, "config.json")
		if err := readJSON(from, &settings); err != nil {
			return "", err
		}
		name = settings.CurrentContext
	}
	if name == "" || name == "default" {
		return "", nil
	}
	sum := sha256.Sum256([]byte(name))
	var meta struct {
		Endpoints map[string]struct{ Host string }
	}
	if err := readJSON(filepath.Join(dir, "contexts", "meta", hex.EncodeToString(sum[:]), "meta.json"), &meta); err != nil {
		return "", err
	}
	host := meta.Endpoints["docker"].Host
	if host == "" {
		return "", &Error{
			Op: "find a container engine", Err: ErrNoEngine, Detail: "unknown Docker context " + name + " (set by " + from + ")",
			Advice: "list the contexts with docker context ls and choose one with docker context use NAME",
		}
	}
	return host, nil
}

// readJSON reads one of the files that Docker's programs write. A missing file is empty.
func readJSON(path string, v any) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return &Error{Op: "read " + path, Err: ErrNoEngine, Detail: err.Error(), Advice: "repair the file, or name the engine with DOCKER_HOST"}
	}
	return nil
}
