// Where three Go clients put each key: keys on stdin (hex, or "null"), partition counts as arguments.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"hash"
	"hash/crc32"
	"hash/fnv"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

// place answers with the partition of one record; a nil key is a null key.
type place func(key []byte, partitions int) int

type rule struct {
	profile, module, call string
	place                 place
}

type hashes struct {
	Hash   string   `json:"hash"`
	Client string   `json:"client"`
	Call   string   `json:"call"`
	Values []*int32 `json:"values"`
}

type answer struct {
	Profile    string `json:"profile"`
	Client     string `json:"client"`
	Call       string `json:"call"`
	Count      int    `json:"count"`
	Partitions []int  `json:"partitions"`
}

const (
	saramaModule  = "github.com/IBM/sarama"
	franzModule   = "github.com/twmb/franz-go"
	kafkaGoModule = "github.com/segmentio/kafka-go"
)

func main() {
	counts, keys := readCounts(), readKeys()
	out := json.NewEncoder(os.Stdout)
	check(out.Encode(fnv1a(keys)))
	for _, rule := range rules() {
		for _, count := range counts {
			partitions := make([]int, len(keys))
			for i, key := range keys {
				partitions[i] = rule.place(key, count)
			}
			client := rule.module + " " + version(rule.module)
			check(out.Encode(answer{rule.profile, client, rule.call, count, partitions}))
		}
	}
}

func rules() []rule {
	crc := func() hash.Hash32 { return crc32.NewIEEE() }
	return []rule{
		{"sarama", saramaModule, "NewHashPartitioner", saramaPlace(sarama.NewHashPartitioner)},
		{"sarama-reference", saramaModule, "NewReferenceHashPartitioner", saramaPlace(sarama.NewReferenceHashPartitioner)},
		{"sarama-crc32", saramaModule, "NewCustomHashPartitioner(crc32.NewIEEE)", saramaPlace(sarama.NewCustomHashPartitioner(crc))},
		{"sarama-murmur2", saramaModule, "NewMurmur2Partitioner", saramaPlace(sarama.NewMurmur2Partitioner)},
		{"sarama-consistent-crc", saramaModule, "NewConsistentCRCHashPartitioner", saramaPlace(sarama.NewConsistentCRCHashPartitioner)},
		{"franz-go", franzModule, "StickyKeyPartitioner(KafkaHasher(nil))", franzPlace(kgo.StickyKeyPartitioner(nil))},
		{"kafka-go-hash", kafkaGoModule, "Hash{}", kafkaGoPlace(&kafka.Hash{})},
		{"kafka-go-reference", kafkaGoModule, "ReferenceHash{}", kafkaGoPlace(&kafka.ReferenceHash{})},
		{"kafka-go-crc32", kafkaGoModule, "CRC32Balancer{}", kafkaGoPlace(kafka.CRC32Balancer{})},
		{"kafka-go-crc32-consistent", kafkaGoModule, "CRC32Balancer{Consistent: true}", kafkaGoPlace(kafka.CRC32Balancer{Consistent: true})},
		{"kafka-go-murmur2", kafkaGoModule, "Murmur2Balancer{}", kafkaGoPlace(kafka.Murmur2Balancer{})},
		{"kafka-go-murmur2-consistent", kafkaGoModule, "Murmur2Balancer{Consistent: true}", kafkaGoPlace(kafka.Murmur2Balancer{Consistent: true})},
	}
}

// fnv1a is the hash that sarama and kafka-go start from.
func fnv1a(keys [][]byte) hashes {
	values := make([]*int32, len(keys))
	for i, key := range keys {
		if key != nil {
			hash := fnv.New32a()
			hash.Write(key)
			value := int32(hash.Sum32())
			values[i] = &value
		}
	}
	return hashes{"fnv1a", runtime.Version(), "hash/fnv.New32a", values}
}

func saramaPlace(newPartitioner sarama.PartitionerConstructor) place {
	partitioner := newPartitioner("topic")
	return func(key []byte, partitions int) int {
		message := &sarama.ProducerMessage{Topic: "topic"}
		if key != nil {
			message.Key = sarama.ByteEncoder(key)
		}
		partition, err := partitioner.Partition(message, int32(partitions))
		check(err)
		return int(partition)
	}
}

func franzPlace(partitioner kgo.Partitioner) place {
	topic := partitioner.ForTopic("topic")
	return func(key []byte, partitions int) int {
		partition := topic.Partition(&kgo.Record{Topic: "topic", Key: key}, partitions)
		// The producer says so when a batch is full; a sticky pick then ends.
		topic.(kgo.TopicPartitionerOnNewBatch).OnNewBatch()
		return partition
	}
}

func kafkaGoPlace(balancer kafka.Balancer) place {
	return func(key []byte, partitions int) int {
		ids := make([]int, partitions)
		for i := range ids {
			ids[i] = i
		}
		return balancer.Balance(kafka.Message{Key: key}, ids...)
	}
}

func readCounts() []int {
	counts := make([]int, len(os.Args)-1)
	for i, text := range os.Args[1:] {
		count, err := strconv.Atoi(text)
		check(err)
		counts[i] = count
	}
	return counts
}

func readKeys() [][]byte {
	var keys [][]byte
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if lines.Text() == "null" {
			keys = append(keys, nil)
			continue
		}
		key, err := hex.DecodeString(lines.Text())
		check(err)
		keys = append(keys, key)
	}
	check(lines.Err())
	return keys
}

func version(module string) string {
	build, _ := debug.ReadBuildInfo()
	for _, dependency := range build.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	log.Fatalf("%s is not in this build", module)
	return ""
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
