// Compares a partitioner with recorded answers on standard input; put yours in the place of `Partition`.
//
//     xz -dc keys.jsonl.xz profiles/java.jsonl.xz | dotnet run     (or: mcs runner.cs && mono runner.exe)
using System;
using System.Linq;
using System.Text.RegularExpressions;

static class Runner
{
    // The rule of Java's client. It shows the form alone: a client has a rule of its own to be compared.
    static int Partition(byte[] key, int count)
    {
        unchecked
        {
            const uint m = 0x5bd1e995;
            uint hash = 0x9747b28cu ^ (uint)key.Length;
            int rest = key.Length / 4 * 4;
            for (int at = 0; at < rest; at += 4)
            {
                uint word = (uint)(key[at] | key[at + 1] << 8 | key[at + 2] << 16 | key[at + 3] << 24) * m;
                hash = hash * m ^ (word ^ word >> 24) * m;
            }
            for (int at = key.Length - 1; at >= rest; at--)
                hash ^= (uint)key[at] << 8 * (at - rest);
            if (rest < key.Length)
                hash *= m;
            hash = (hash ^ hash >> 13) * m;
            return (int)((hash ^ hash >> 15) & 0x7fffffff) % count;
        }
    }

    static int Main()
    {
        string[] keys = null;
        int total = 0, wrong = 0;
        for (string line; (line = Console.ReadLine()) != null;)
        {
            // Keys are hexadecimal digits or null and partitions are integers or null, so that no list of a
            // line has a bracket, a comma or an escape within its elements.
            if (keys == null)
            {
                keys = List(line, "keys");
                continue;
            }
            int count = int.Parse(Regex.Match(line, "\"count\": ?([0-9]+)").Groups[1].Value);
            string[] partitions = List(line, "partitions");
            for (int row = 0; row < partitions.Length; row++)
            {
                if (partitions[row] == "null") // a key that the rule does not hash goes anywhere
                    continue;
                total++;
                byte[] key = Enumerable.Range(0, keys[row].Length / 2)
                    .Select(at => Convert.ToByte(keys[row].Substring(2 * at, 2), 16)).ToArray();
                int found = Partition(key, count);
                if (found != int.Parse(partitions[row]) && ++wrong <= 3)
                    Console.WriteLine("key {0}, {1} partitions: {2}, not {3}", keys[row], count, found, partitions[row]);
            }
        }
        Console.WriteLine("{0} of {1} are equal", total - wrong, total);
        return wrong > 0 ? 1 : 0;
    }

    static string[] List(string line, string name)
    {
        string found = Regex.Match(line, "\"" + name + "\": ?\\[([^\\]]*)\\]").Groups[1].Value;
        return found.Split(',').Select(element => element.Trim(' ', '"')).ToArray();
    }
}
