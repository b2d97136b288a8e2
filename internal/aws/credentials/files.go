package credentials

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
)

// files finds the keys of the profile that AWS_PROFILE names, or of the default profile.
func (e endpoints) files(ctx context.Context) (found, error) {
	name := os.Getenv("AWS_PROFILE")
	if name != "" {
		return e.profile(ctx, name)
	}
	f, err := e.profile(ctx, "default")
	if errors.Is(err, errNoProfile) {
		return found{}, errNone
	}
	return f, err
}

var (
	errNoProfile = errors.New("the profile does not exist")
	errNoKeys    = errors.New("it has no keys, sso_session or credential_process")
)

// profile finds the keys of a profile: keys in the profile itself, keys of AWS IAM Identity Center,
// or keys that a program prints.
func (e endpoints) profile(ctx context.Context, name string) (found, error) {
	all, err := awsFiles()
	if err != nil {
		return found{}, &Error{Source: "profile " + name, Err: err, Hint: "correct the file"}
	}
	p := all[name]
	if p == nil {
		return found{}, &Error{Source: "profile " + name, Err: errNoProfile, Hint: "aws configure list-profiles"}
	}
	f, err := e.profileKeys(ctx, name, p, all)
	switch er, ok := errors.AsType[*Error](err); {
	case err == nil || errors.Is(err, errNone):
	case ok:
		er.Source = "profile " + name
	default:
		err = &Error{Source: "profile " + name, Err: err}
	}
	return f, err
}

func (e endpoints) profileKeys(ctx context.Context, name string, p map[string]string, all iniFile) (found, error) {
	id, secret := p["aws_access_key_id"], p["aws_secret_access_key"]
	has := func(names ...string) bool {
		for _, n := range names {
			if p[n] != "" {
				return true
			}
		}
		return false
	}
	switch {
	case has("role_arn"): // keys in the section itself would have a different identity than the role
		return found{}, &Error{
			Err:  errors.New("role_arn, which assumes a role, is not supported in a profile"),
			Hint: "set credential_process = aws configure export-credentials --format process --profile " + name + " in a separate profile",
		}
	case id != "" && secret != "":
		return found{keys: sigv4.Keys{ID: id, Secret: secret, Token: p["aws_session_token"]}}, nil
	case id != "" || secret != "":
		return found{}, &Error{
			Err: errors.New("it has only one of aws_access_key_id and aws_secret_access_key"), Hint: "set both or neither",
		}
	case has("sso_session", "sso_start_url", "sso_account_id", "sso_role_name", "sso_region"):
		return e.sso(ctx, name, p, all)
	case has("credential_process"):
		return process(ctx, p["credential_process"])
	}
	if name == "default" {
		return found{}, errNone // the section has only a region or an output format
	}
	return found{}, errNoKeys
}

// awsFiles returns the profiles of both AWS files; the credentials file takes precedence. Sections
// "sso-session NAME" keep their complete name.
func awsFiles() (iniFile, error) {
	config, err := awsFile("AWS_CONFIG_FILE", "config")
	if err != nil {
		return nil, err
	}
	keys, err := awsFile("AWS_SHARED_CREDENTIALS_FILE", "credentials")
	if err != nil {
		return nil, err
	}
	all := iniFile{}
	for name, settings := range config {
		if name == "default" || strings.HasPrefix(name, "sso-session ") {
			all[name] = settings
		}
	}
	for name, settings := range config {
		if name, ok := strings.CutPrefix(name, "profile "); ok {
			all[name] = settings
		}
	}
	for name, settings := range keys {
		if strings.HasPrefix(name, "profile ") || strings.HasPrefix(name, "sso-session ") {
			continue
		}
		before := all[name]
		if before == nil {
			all[name] = settings
			continue
		}
		if settings["aws_access_key_id"] != "" && settings["aws_secret_access_key"] != "" {
			delete(before, "aws_session_token") // it is part of the other keys
		} else {
			delete(settings, "aws_access_key_id")
			delete(settings, "aws_secret_access_key")
			delete(settings, "aws_session_token")
		}
		maps.Copy(before, settings)
	}
	return all, nil
}

// awsFile reads the file that a variable names, or the one in ~/.aws. A missing file is empty.
func awsFile(variable, name string) (iniFile, error) {
	path := os.Getenv(variable)
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, nil
		}
		path = filepath.Join(home, ".aws", name)
	}
	f, err := readINI(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// minioFile finds the keys of an alias of the MinIO client, mc.
func minioFile(context.Context) (found, error) {
	path, named := os.LookupEnv("MINIO_SHARED_CREDENTIALS_FILE")
	if !named {
		home, err := os.UserHomeDir()
		if err != nil {
			return found{}, errNone
		}
		path = filepath.Join(home, mcFolder(), "config.json")
	}
	alias := os.Getenv("MINIO_ALIAS")
	fail := func(err error, hint string) (found, error) {
		return found{}, &Error{Source: path, Err: err, Hint: hint}
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named && alias == "" {
		return found{}, errNone
	}
	if err != nil {
		return fail(err, "mc alias list")
	}
	type host struct{ URL, AccessKey, SecretKey, API string }
	var config struct {
		Version        string
		Hosts, Aliases map[string]host
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return fail(err, "correct the file")
	}
	hosts := config.Hosts
	if config.Version == "10" {
		hosts = config.Aliases
	}
	h, ok := hosts[cmp.Or(alias, "s3")]
	switch {
	case alias == "" && (h.AccessKey == "" && h.SecretKey == "" || h.AccessKey == "YOUR-ACCESS-KEY-HERE"):
		return found{}, errNone // mc writes this into a new file
	case !ok:
		return fail(errors.New("unknown alias "+alias), "mc alias list")
	case strings.EqualFold(h.API, "S3v2"):
		return fail(errors.New("signature version 2 (S3v2) is not supported"), "mc alias set … --api S3v4")
	}
	return found{keys: sigv4.Keys{ID: h.AccessKey, Secret: h.SecretKey}}, nil
}

// mcFolder returns the folder of the MinIO client in the user's home.
func mcFolder() string {
	if runtime.GOOS == "windows" {
		return "mc"
	}
	return ".mc"
}
