//! Scattered starts close: a shorter run of the table in docs/assembly.md (`make bench` runs all of it).

#[path = "scatter/table.rs"]
mod table;

#[test]
fn scattered_mechanisms_close() {
    for (name, m) in table::mechanisms() {
        for scatter in [1.0, 3.0] {
            let line = table::run(name, &m, scatter, 20);
            println!(
                "{}, {}: {} of {} ({} at once), {} iterations, at most {}",
                line.name,
                line.scatter,
                line.closed,
                line.trials,
                line.at_once,
                line.median_iterations,
                line.most_iterations
            );
            assert_eq!(line.closed, line.trials, "{name} at {scatter}");
        }
    }
}
