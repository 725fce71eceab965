package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pestle/reports/page"
)

// maxCampaign bounds a campaign.json that is read, in bytes.
const maxCampaign = 256 << 20

// Line is the campaign as one JSON object on one line, without its newline.
func (c Campaign) Line() ([]byte, error) {
	data, err := c.encode("")
	return bytes.TrimRight(data, "\n"), err
}

// encode keeps <, > and & readable: the file is JSON, not a web page.
func (c Campaign) encode(indent string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(c); err != nil {
		return nil, fmt.Errorf("encode the campaign: %w", err)
	}
	return buf.Bytes(), nil
}

// Write writes campaign.json into the campaign's directory. A reader sees the
// old file or the new one, never a part.
func Write(dir string, c Campaign) error {
	data, err := c.encode("  ")
	if err != nil {
		return err
	}
	return page.Replace(filepath.Join(dir, Name), data)
}

// Read reads campaign.json of a campaign's directory.
func Read(dir string) (Campaign, error) {
	path := filepath.Join(dir, Name)
	file, err := os.Open(path)
	if err != nil {
		return Campaign{}, fmt.Errorf("read the campaign: %w; is %s the directory of a campaign that ended?", err, dir)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxCampaign+1))
	if err != nil {
		return Campaign{}, fmt.Errorf("read the campaign: %w", err)
	}
	c, err := decode(data)
	if err != nil {
		return Campaign{}, fmt.Errorf("read the campaign %s: %w; the campaign's own command writes it again", path, err)
	}
	return c, nil
}

func decode(data []byte) (Campaign, error) {
	if len(data) > maxCampaign {
		return Campaign{}, fmt.Errorf("it is longer than %d bytes", maxCampaign)
	}
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Campaign{}, err
	}
	// Another schema may have any keys: its number is told before they are.
	if head.Schema != Schema {
		return Campaign{}, fmt.Errorf("its schema is %d, this pestle reads %d", head.Schema, Schema)
	}
	var c Campaign
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Campaign{}, err
	}
	return c, nil
}
