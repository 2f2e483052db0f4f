"""Metadata of the backend cuda_shortest_paths. `import networkx` reads this module, not the backend (networkx.py)."""

NAME = "cuda_shortest_paths"
FUNCTIONS = (
    "all_pairs_bellman_ford_path",
    "all_pairs_bellman_ford_path_length",
    "all_pairs_dijkstra",
    "all_pairs_dijkstra_path",
    "all_pairs_dijkstra_path_length",
    "all_pairs_shortest_path",
    "all_pairs_shortest_path_length",
    "average_shortest_path_length",
    "bellman_ford_path",
    "bellman_ford_path_length",
    "bellman_ford_predecessor_and_distance",
    "center",
    "closeness_centrality",
    "diameter",
    "dijkstra_path",
    "dijkstra_path_length",
    "dijkstra_predecessor_and_distance",
    "eccentricity",
    "floyd_warshall",
    "floyd_warshall_numpy",
    "floyd_warshall_predecessor_and_distance",
    "harmonic_centrality",
    "johnson",
    "multi_source_dijkstra",
    "multi_source_dijkstra_path",
    "multi_source_dijkstra_path_length",
    "periphery",
    "radius",
    "shortest_path",
    "shortest_path_length",
    "single_source_bellman_ford",
    "single_source_bellman_ford_path",
    "single_source_bellman_ford_path_length",
    "single_source_dijkstra",
    "single_source_dijkstra_path",
    "single_source_dijkstra_path_length",
    "single_source_shortest_path",
    "single_source_shortest_path_length",
    "single_target_shortest_path",
    "single_target_shortest_path_length",
    "wiener_index",
)


def backend_info() -> dict:
    """Return the backend's name and functions."""
    return {
        "backend_name": NAME,
        "project": "cuda-shortest-paths",
        "package": NAME,
        "short_summary": "Shortest paths and centralities on a GPU, or by SciPy without one.",
        "functions": {name: {} for name in FUNCTIONS},
    }
